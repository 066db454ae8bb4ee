package kernlog

import (
	"errors"
	"testing"
	"time"
)

const (
	second = uint64(time.Second / time.Microsecond)
	// opened is when the sessions of these tests begin on the kernel's clock.
	opened = 3600 * second
)

func clockAt(micros uint64) func() uint64 { return func() uint64 { return micros } }

func TestSessionAccountsForEverySequence(t *testing.T) {
	type want struct {
		lost  uint64
		fresh bool
	}
	const garbled = ^uint64(0)
	tests := []struct {
		name string
		from Position
		read []uint64
		want []want
	}{
		{"from the start", Position{}, []uint64{0, 1, 2}, []want{{0, true}, {0, true}, {0, true}}},
		{"oldest above zero", Position{}, []uint64{40, 41}, []want{{40, true}, {0, true}}},
		{"position of another boot", Position{"old", 41}, []uint64{40, 41}, []want{{40, true}, {0, true}}},
		{"position in the log", Position{"boot", 41}, []uint64{40, 41, 42}, []want{{0, false}, {0, false}, {0, true}}},
		{"position is the first record", Position{"boot", 0}, []uint64{0, 1}, []want{{0, false}, {0, true}}},
		{"position overwritten", Position{"boot", 41}, []uint64{50}, []want{{8, true}}},
		{"jump", Position{"boot", 41}, []uint64{42, 45}, []want{{0, true}, {2, true}}},
		{"garbled takes a number", Position{}, []uint64{0, garbled, 2, garbled, 5}, []want{{0, true}, {}, {0, true}, {}, {1, true}}},
		{"garbled before the position", Position{"boot", 2}, []uint64{0, garbled, 2, 3}, []want{{0, false}, {}, {0, false}, {0, true}}},
		{"more garbled than numbers", Position{}, []uint64{0, garbled, garbled, 2}, []want{{0, true}, {}, {}, {0, true}}},
		{"a new log behind the old one", Position{"boot", 41}, []uint64{41, 42, 3, 4}, []want{{0, false}, {0, true}, {3, true}, {0, true}}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := newSession("boot", tt.from, opened)
			for i, seq := range tt.read {
				if seq == garbled {
					s.garbled()
					continue
				}
				rec, fresh := s.enter(seq, 0, clockAt(opened))
				if got := (want{rec.Lost, fresh}); got != tt.want[i] {
					t.Errorf("sequence %d: got %+v, want %+v", seq, got, tt.want[i])
				}
				if fresh && (rec.Position != Position{"boot", seq} || s.position() != rec.Position) {
					t.Errorf("sequence %d: record at %v, session at %v", seq, rec.Position, s.position())
				}
			}
		})
	}
}

func TestSessionTellsHistoryFromNews(t *testing.T) {
	minute := 60 * second
	tests := []struct {
		name   string
		from   Position
		dry    bool
		micros uint64
		now    uint64
		want   bool
	}{
		{"in the ring at the first start", Position{}, false, opened - second, opened, true},
		{"old boot's position gives no grace", Position{"old", 1}, false, opened - second, opened, true},
		{"behind the end of the backlog", Position{}, true, opened - minute, opened, false},
		{"written while away", Position{"boot", 1}, false, opened - 9*minute, opened, false},
		{"written long ago while away", Position{"boot", 1}, false, opened - 11*minute, opened, true},
		{"kernel clock ahead, log just opened", Position{}, false, opened + minute, opened, true},
		{"endless flood, past the opening", Position{}, false, opened + 3*second, opened + 3*second, false},
		{"endless flood, still in the ring", Position{}, false, opened - second, opened + 3*second, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := newSession("boot", tt.from, opened)
			s.enter(1, 0, clockAt(opened))
			if tt.dry {
				if err := s.dry(); err != nil {
					t.Fatal(err)
				}
			}
			rec, fresh := s.enter(2, tt.micros, clockAt(tt.now))
			if !fresh || rec.Backlog != tt.want {
				t.Errorf("fresh %v, backlog %v; want true, %v", fresh, rec.Backlog, tt.want)
			}
		})
	}
}

func TestSessionYoungerThanTheGrace(t *testing.T) {
	s := newSession("boot", Position{"boot", 1}, 5*second)
	if rec, _ := s.enter(2, 0, clockAt(5*second)); rec.Backlog {
		t.Error("5 s after boot a record behind the position is called history")
	}
}

func TestSessionRefusesPositionBehindTheEnd(t *testing.T) {
	tests := []struct {
		name string
		from Position
		read []uint64
		want error
	}{
		{"ends before the position", Position{"boot", 9}, []uint64{0, 1}, errBeyond},
		{"ends right before the position", Position{"boot", 2}, []uint64{0, 1}, errBeyond},
		{"empty", Position{"boot", 9}, nil, errBeyond},
		{"empty, position at the first record", Position{"boot", 0}, nil, errBeyond},
		{"ends at the position", Position{"boot", 1}, []uint64{0, 1}, nil},
		{"empty without a position", Position{}, nil, nil},
		{"position of another boot", Position{"old", 9}, []uint64{0}, nil},
	}
	for _, tt := range tests {
		s := newSession("boot", tt.from, opened)
		for _, seq := range tt.read {
			s.enter(seq, 0, clockAt(opened))
		}
		if err := s.dry(); !errors.Is(err, tt.want) {
			t.Errorf("%s: got %v, want %v", tt.name, err, tt.want)
		}
	}
}
