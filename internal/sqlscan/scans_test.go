package sqlscan_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/weftrun/weft/checkpoint/document"
	"github.com/weftrun/weft/internal/sqlscan"
)

func TestScan_IsOneQuery(t *testing.T) {
	one, all := document.At("c", "p"), document.At("c", "")
	after := &document.Position{Partition: "q", Order: "o", Seq: 7}
	for _, c := range []struct {
		scan document.Scan
		want string
	}{
		{document.Scan{Place: one, Limit: 20}, "WHERE d.collection = 'c' AND d.part = 'p' ORDER BY d.ord, d.seq LIMIT 21"},
		{document.Scan{Place: one, Reverse: true, After: after, From: "a", Until: "b"},
			"WHERE d.collection = 'c' AND d.part = 'p' AND d.ord >= 'a' AND d.ord < 'b' AND (d.ord, d.seq) < ('o', 7) ORDER BY d.ord DESC, d.seq DESC LIMIT 1"},
		{document.Scan{Place: all, After: after}, "WHERE d.collection = 'c' AND (d.part, d.ord, d.seq) > ('q', 'o', 7) ORDER BY d.part, d.ord, d.seq LIMIT 1"},
		{document.Scan{Place: all, Reverse: true}, "WHERE d.collection = 'c' ORDER BY d.part DESC, d.ord DESC, d.seq DESC LIMIT 1"},
	} {
		text, args := sqlscan.SQL(c.scan)
		for _, a := range args {
			if b, ok := a.([]byte); ok {
				a = "'" + string(b) + "'"
			}
			text = strings.Replace(text, "?", fmt.Sprint(a), 1)
		}
		if strings.TrimSpace(text) != c.want {
			t.Errorf("%+v\n got: %s\nwant: %s", c.scan, text, c.want)
		}
	}
}
