package xidparse

import "fmt"

// PCI is a device's address. The function digit is left out: a GPU is one
// device, and the driver's own lines differ in whether they print it.
type PCI struct {
	Domain uint32
	Bus    uint8
	Device uint8
}

// String gives the address as domain:bus:device in lower-case hex, the domain
// at least four digits wide.
func (p PCI) String() string {
	const widest = "00000000:00:00"
	b := make([]byte, 0, len(widest))
	for shift := 28; shift >= 0; shift -= 4 {
		if digit := p.Domain >> shift & 0xf; digit != 0 || shift < 16 || len(b) > 0 {
			b = append(b, hexDigits[digit])
		}
	}
	for _, v := range [...]uint8{p.Bus, p.Device} {
		b = append(b, ':', hexDigits[v>>4], hexDigits[v&0xf])
	}
	return string(b)
}

const hexDigits = "0123456789abcdef"

// Less orders addresses by domain, bus and device.
func (p PCI) Less(q PCI) bool {
	if p.Domain != q.Domain {
		return p.Domain < q.Domain
	}
	if p.Bus != q.Bus {
		return p.Bus < q.Bus
	}
	return p.Device < q.Device
}

// MarshalText writes the address as String does.
func (p PCI) MarshalText() ([]byte, error) { return []byte(p.String()), nil }

// UnmarshalText reads every spelling that ParsePCI reads.
func (p *PCI) UnmarshalText(text []byte) error {
	q, ok := ParsePCI(string(text))
	if !ok {
		return fmt.Errorf("PCI address %q: want domain:bus:device in hex", text)
	}
	*p = q
	return nil
}

// ParsePCI reads domain:bus:device with an optional function digit, in upper
// or lower case and with a domain of any width up to eight digits: the kernel
// log prints four, NVML eight. Nothing may stand behind it.
func ParsePCI(s string) (PCI, bool) {
	p, rest, ok := cutPCI(s)
	return p, ok && rest == ""
}

// cutPCI reads the address at the head of s and gives what stands behind it.
func cutPCI(s string) (p PCI, rest string, ok bool) {
	domain, rest, ok := cutHex(s)
	// Behind the domain stands exactly ":bb:dd".
	if !ok || len(rest) < 6 || rest[0] != ':' || rest[3] != ':' {
		return PCI{}, s, false
	}
	bus, device := hexByte(rest[1:3]), hexByte(rest[4:6])
	if bus < 0 || device < 0 {
		return PCI{}, s, false
	}
	rest = rest[6:]
	if len(rest) >= 2 && rest[0] == '.' && rest[1] >= '0' && rest[1] <= '7' {
		rest = rest[2:]
	}
	return PCI{Domain: domain, Bus: uint8(bus), Device: uint8(device)}, rest, true
}

// hexByte reads two hex digits; negative where they are not.
func hexByte(s string) int { return hexDigit(s[0])<<4 | hexDigit(s[1]) }

// cutHex reads the hex number at the head of s, without "0x", of at most eight
// digits. A ninth digit makes it no number.
func cutHex(s string) (n uint32, rest string, ok bool) {
	i := 0
	for ; i < len(s); i++ {
		d := hexDigit(s[i])
		if d < 0 {
			break
		}
		if i == 8 {
			return 0, s, false
		}
		n = n<<4 | uint32(d)
	}
	return n, s[i:], i > 0
}

// cutInt reads the unsigned decimal at the head of s. It reads at most nine
// digits, so that the result fits an int on every machine; a tenth makes it no
// number.
func cutInt(s string) (n int, rest string, ok bool) {
	i := 0
	for ; i < len(s) && s[i] >= '0' && s[i] <= '9'; i++ {
		if i == 9 {
			return 0, s, false
		}
		n = n*10 + int(s[i]-'0')
	}
	return n, s[i:], i > 0
}
