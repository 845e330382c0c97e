package budget_test

import (
	"encoding/json"
	"errors"
	"math/big"
	"testing"

	"pgregory.net/rapid"

	"github.com/weftrun/weft/capabilities/budget"
	"github.com/weftrun/weft/state/message"
)

func TestMoney_ReadsWhatItWrites(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := budget.Money(rapid.Int64Range(-1e18, 1e18).Draw(t, "money"))
		got, err := budget.ParseMoney(m.String())
		if err != nil || got != m {
			t.Fatalf("%d is written %q and read as %d, %v", m, m.String(), got, err)
		}
		var back budget.Money
		data, err := json.Marshal(m)
		if err := errors.Join(err, json.Unmarshal(data, &back)); err != nil || back != m {
			t.Fatalf("%d is %s in JSON and read as %d, %v", m, data, back, err)
		}
	})
	for text, want := range map[string]budget.Money{"2": 2_000_000, "2.5": 2_500_000, "0.000001": 1, "-0.5": -500_000, "-0": 0} {
		if got, err := budget.ParseMoney(text); err != nil || got != want {
			t.Errorf("%q is read as %d, %v; want %d", text, got, err, want)
		}
	}
	for _, text := range []string{"", ".", "1.", "1.0000001", "1e3", "1.-5", "1.+5", "--1", "99999999999999", "one", "1,5", " 1"} {
		if got, err := budget.ParseMoney(text); err == nil {
			t.Errorf("%q is read as %d, want an error", text, got)
		}
	}
}

// The cost is that of exact fractions, rounded up.
func TestPrice_IsExact(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		money := rapid.Int64Range(0, 1e12)
		p := budget.Price{Input: budget.Money(money.Draw(t, "input")), Output: budget.Money(money.Draw(t, "output")), Cached: budget.Money(rapid.Int64Range(1, 1e12).Draw(t, "cached"))}
		tokens := rapid.IntRange(0, 1e6)
		u := message.Usage{Input: tokens.Draw(t, "in"), Output: tokens.Draw(t, "out")}
		u.Cached = rapid.IntRange(0, u.Input).Draw(t, "of it cached")
		want := new(big.Int)
		add := func(tokens int, price budget.Money) {
			want.Add(want, new(big.Int).Mul(big.NewInt(int64(tokens)), big.NewInt(int64(price))))
		}
		add(u.Input-u.Cached, p.Input)
		add(u.Cached, p.Cached)
		add(u.Output, p.Output)
		want.Quo(want.Add(want, big.NewInt(999_999)), big.NewInt(1_000_000))
		if got := p.Of(u); big.NewInt(int64(got)).Cmp(want) != 0 {
			t.Fatalf("%+v of %+v costs %d, want %s", u, p, got, want)
		}
	})
	if got := (budget.Price{Output: 1 << 62}).Of(message.Usage{Output: 1 << 62}); got != 1<<63-1 {
		t.Errorf("a cost beyond all bounds is %d, want the largest", got)
	}
}
