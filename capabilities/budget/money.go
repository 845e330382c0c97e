package budget

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"math/bits"
	"strconv"
	"strings"

	"github.com/weftrun/weft/state/message"
)

// Money counts millionths of a unit of a currency. Its JSON is a text such as "2.50".
type Money int64

// Unit is one unit of a currency, such as a euro.
const Unit Money = 1_000_000

// String returns the amount in units, with 2 to 6 decimals.
func (m Money) String() string {
	sign, u := "", uint64(m)
	if m < 0 {
		sign, u = "-", -u
	}
	text := fmt.Sprintf("%s%d.%06d", sign, u/uint64(Unit), u%uint64(Unit))
	for range 4 {
		text = strings.TrimSuffix(text, "0")
	}
	return text
}

// ParseMoney reads an amount in units, such as "12" or "0.000125".
func ParseMoney(text string) (Money, error) {
	bad := fmt.Errorf("budget: an amount must be a number with at most 6 decimals (got %.40q)", text)
	whole, part, dot := strings.Cut(text, ".")
	if dot && (part == "" || len(part) > 6) || strings.HasPrefix(part, "-") || strings.HasPrefix(part, "+") {
		return 0, bad
	}
	units, err := strconv.ParseInt(whole, 10, 64)
	if err != nil || units > math.MaxInt64/int64(Unit)-1 || units < -(math.MaxInt64/int64(Unit)-1) {
		return 0, bad
	}
	var millionths int64
	if dot {
		if millionths, err = strconv.ParseInt(part+strings.Repeat("0", 6-len(part)), 10, 64); err != nil {
			return 0, bad
		}
	}
	if strings.HasPrefix(whole, "-") {
		millionths = -millionths
	}
	return Money(units)*Unit + Money(millionths), nil
}

// MarshalJSON returns a text.
func (m Money) MarshalJSON() ([]byte, error) { return json.Marshal(m.String()) }

// UnmarshalJSON reads a text or a number.
func (m *Money) UnmarshalJSON(data []byte) error {
	text := string(data)
	if strings.HasPrefix(text, `"`) {
		if err := json.Unmarshal(data, &text); err != nil {
			return err
		}
	}
	var err error
	*m, err = ParseMoney(text)
	return err
}

// ParamSchema describes the number or the text for editors of workflows.
func (Money) ParamSchema() map[string]any {
	return map[string]any{"type": []string{"number", "string"}, "pattern": `^[-+]?[0-9]+(\.[0-9]{1,6})?$`, "$comment": "an amount such as 2.50"}
}

// Price is the price of a million tokens.
type Price struct {
	Input  Money `json:"input"`
	Output Money `json:"output"`
	// Cached is that of input from the provider's cache; 0 is Input.
	Cached Money `json:"cached,omitempty"`
}

// Prices are the prices of models by name; "" is any other model.
type Prices map[string]Price

// of returns the price of a model.
func (p Prices) of(name string) (Price, bool) {
	price, ok := p[name]
	if !ok {
		price, ok = p[""]
	}
	return price, ok
}

// Of returns the cost of tokens, rounded up to a millionth of the currency.
func (p Price) Of(u message.Usage) Money {
	var high, low uint64
	for _, part := range []struct {
		tokens int
		price  Money
	}{{u.Input - u.Cached, p.Input}, {u.Cached, cmp.Or(p.Cached, p.Input)}, {u.Output, p.Output}} {
		h, l := bits.Mul64(uint64(max(part.tokens, 0)), uint64(max(part.price, 0)))
		var carry uint64
		low, carry = bits.Add64(low, l, 0)
		high += h + carry
	}
	low, carry := bits.Add64(low, 999_999, 0)
	high += carry
	if high >= 1_000_000/2 {
		return math.MaxInt64
	}
	cost, _ := bits.Div64(high, low, 1_000_000)
	return Money(min(cost, math.MaxInt64))
}

// Amount is what is spent, or may be. In a limit, 0 is no limit.
type Amount struct {
	Calls  int64 `json:"calls,omitempty"`
	Tokens int64 `json:"tokens,omitempty"` // of requests and answers together
	Money  Money `json:"money,omitempty"`
}

// plus returns the sum.
func (a Amount) plus(b Amount) Amount {
	return Amount{sum(a.Calls, b.Calls), sum(a.Tokens, b.Tokens), sum(a.Money, b.Money)}
}

// sum adds two numbers, of which none is negative, and stops at the largest.
func sum[T ~int64](a, b T) T {
	if a > math.MaxInt64-b {
		return math.MaxInt64
	}
	return a + b
}

// negative reports whether a part is less than 0.
func (a Amount) negative() bool { return a.Calls < 0 || a.Tokens < 0 || a.Money < 0 }

// part returns one part.
func (a Amount) part(w What) int64 {
	switch w {
	case Calls:
		return a.Calls
	case Tokens:
		return a.Tokens
	}
	return int64(a.Money)
}

// Text describes one part, such as "3 calls", "500 tokens" or "2.50".
func (a Amount) Text(w What) string { return a.only(w, "") }

// only describes one part. Money has its currency.
func (a Amount) only(w What, currency string) string {
	switch w {
	case Calls:
		return plural(a.Calls, "call")
	case Tokens:
		return plural(a.Tokens, "token")
	}
	return strings.TrimSpace(a.Money.String() + " " + currency)
}

func plural(n int64, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// amounts are the parts of an Amount.
var amounts = []What{Calls, Tokens, Spending}
