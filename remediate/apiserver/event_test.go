package apiserver

import "testing"

func TestTruncate(t *testing.T) {
	cases := []struct {
		text  string
		limit int
		want  string
	}{
		{"", 3, ""},
		{"abc", 3, "abc"},
		{"abcd", 3, "abc"},
		{"a€", 4, "a€"},
		{"a€", 3, "a"},
		{"€", 2, ""},
		{"a\x1b[2Jb", 8, "a [2Jb"},
		{"\xff", 3, "\uFFFD"},
	}
	for _, c := range cases {
		if got := truncate(c.text, c.limit); got != c.want {
			t.Errorf("truncate(%q, %d) = %q, want %q", c.text, c.limit, got, c.want)
		}
	}
}
