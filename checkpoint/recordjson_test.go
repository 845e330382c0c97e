package checkpoint

import (
	"encoding/json"
	"math/rand/v2"
	"reflect"
	"testing"
	"time"
)

// sameJSON checks that a record appends what encoding/json makes of it.
func sameJSON(t *testing.T, r *Record) {
	t.Helper()
	want, wantErr := json.Marshal(r)
	got, err := r.appendJSON(nil)
	if (err != nil) != (wantErr != nil) || err == nil && string(got) != string(want) {
		t.Fatalf("got  %s, %v\nwant %s, %v", got, err, want, wantErr)
	}
}

// TestRecord_AppendsTheJSONOfEncodingJSON fills each field in turn and at random, so a new field of
// Record that appendJSON does not know fails here.
func TestRecord_AppendsTheJSONOfEncodingJSON(t *testing.T) {
	sameJSON(t, &Record{})
	sameJSON(t, &Record{Fields: []Field{}})
	r := rand.New(rand.NewPCG(1, 2))
	for i := range reflect.TypeFor[Record]().NumField() {
		for range 20 {
			var rec Record
			fill(r, reflect.ValueOf(&rec).Elem().Field(i), 1)
			sameJSON(t, &rec)
		}
	}
	for range 2000 {
		var rec Record
		fill(r, reflect.ValueOf(&rec).Elem(), 0.7)
		sameJSON(t, &rec)
	}
	east := time.FixedZone("east", 3600)
	for _, at := range []time.Time{
		time.Date(2026, 1, 2, 3, 4, 5, 6, east), time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC),
		time.Date(10_000, 1, 1, 0, 0, 0, 0, time.UTC), time.Date(-1, 1, 1, 0, 0, 0, 0, time.UTC), time.Date(1, 1, 1, 0, 0, 0, 0, time.FixedZone("far", 30*3600)),
	} {
		sameJSON(t, &Record{Time: at})
	}
}

// fill sets v and what is in it, each part with a chance.
func fill(r *rand.Rand, v reflect.Value, chance float64) {
	if r.Float64() > chance {
		return
	}
	switch v.Type() {
	case reflect.TypeFor[time.Time]():
		v.Set(reflect.ValueOf(time.Unix(r.Int64N(1<<33), r.Int64N(1e9)).UTC()))
		return
	case reflect.TypeFor[json.RawMessage]():
		all := []string{`{"a": [1, "<b>"]}`, `null`, `"x"`, `bad`}
		v.SetBytes([]byte(all[r.IntN(len(all))]))
		return
	}
	switch v.Kind() {
	case reflect.String:
		all := []string{"plain", `quo"te`, "<&>", "é\u2028", "\xff", "\x00"}
		v.SetString(all[r.IntN(len(all))])
	case reflect.Int, reflect.Int64:
		v.SetInt(r.Int64N(3) - 1)
	case reflect.Uint64:
		v.SetUint(r.Uint64N(3))
	case reflect.Uint8:
		v.SetUint(r.Uint64N(256))
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(r, v.Elem(), chance*0.8)
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), r.IntN(3), 3))
		for i := range v.Len() {
			fill(r, v.Index(i), chance)
		}
	case reflect.Map:
		v.Set(reflect.MakeMap(v.Type()))
		for range r.IntN(3) {
			key, value := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
			fill(r, key, 1)
			fill(r, value, 1)
			v.SetMapIndex(key, value)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				fill(r, v.Field(i), chance)
			}
		}
	default:
		panic(v.Type())
	}
}
