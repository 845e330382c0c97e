package values

import (
	"cmp"
	"encoding/json"
	"strconv"
	"strings"
)

// number is the exact value of a JSON number: 0.digits × 10^exp. Zero has no digits.
// Floats would make different numbers equal. Big decimals would use memory in proportion to the
// exponent.
type number struct {
	negative bool
	digits   string // without zeros at either end
	exp      int
}

// parseNumber parses a valid JSON number that Costly does not report.
func parseNumber(text string) number {
	var n number
	text, n.negative = strings.CutPrefix(text, "-")
	text = strings.ToLower(text)
	mantissa, exponent, _ := strings.Cut(text, "e")
	n.exp, _ = strconv.Atoi(cmp.Or(exponent, "0"))
	whole, fraction, _ := strings.Cut(mantissa, ".")
	n.exp += len(whole)
	digits := whole + fraction
	n.digits = strings.TrimLeft(digits, "0")
	n.exp -= len(digits) - len(n.digits)
	n.digits = strings.TrimRight(n.digits, "0")
	if n.digits == "" {
		return number{}
	}
	return n
}

func (n number) sign() int {
	switch {
	case n.digits == "":
		return 0
	case n.negative:
		return -1
	}
	return 1
}

func compareNumbers(a, b string) int {
	x, y := parseNumber(a), parseNumber(b)
	if x.sign() != y.sign() {
		return cmp.Compare(x.sign(), y.sign())
	}
	return x.sign() * cmp.Or(cmp.Compare(x.exp, y.exp), strings.Compare(x.digits, y.digits))
}

// Key returns a text for a string, a number or a boolean. Two of them have the same Key exactly if
// they are equal. ok is false for other values.
func Key(v any) (key string, ok bool) {
	switch v := v.(type) {
	case string:
		return "s" + v, true
	case bool:
		return "b" + strconv.FormatBool(v), true
	case json.Number:
		n := parseNumber(string(v))
		return "n" + strconv.Itoa(n.sign()) + "." + n.digits + "e" + strconv.Itoa(n.exp), true
	}
	return "", false
}
