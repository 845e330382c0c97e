package record_test

import (
	"encoding/json"
	"testing"

	"github.com/weftrun/weft/state/record"
)

// Plain strings are written as encoding/json does, as values and as keys.
func TestText_IsWrittenAsEncodingJSONDoes(t *testing.T) {
	for c := range rune(0x100) {
		for _, s := range []string{string(c), "a" + string(c) + "b", string([]byte{byte(c)}), "\u2028" + string(c)} {
			got, err := record.Type{}.Encode(map[string]any{s: []any{s}})
			want, wantErr := json.Marshal(map[string]any{s: []any{s}})
			if err != nil || wantErr != nil || string(got) != string(want) {
				t.Errorf("%q is written %s, want %s; %v %v", s, got, want, err, wantErr)
			}
		}
	}
}
