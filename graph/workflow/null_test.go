package workflow_test

import (
	"strings"
	"testing"
)

// failing runs a workflow and expects its error to say all of this.
func failing(t *testing.T, text, input string, contains ...string) {
	t.Helper()
	_, err := parse(t, text).start(input)
	for _, want := range contains {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want an error with %q", err, want)
		}
	}
}

const nulls = `
version: 1
state: {any: any, list: list<string>, text: string, n: int}
input: [any]
nodes:
  a: {set: {EDIT}, next: END}
`

func TestSet_ComputedNullIsAnError(t *testing.T) {
	for field, base := range map[string]string{"list": "[]", "text": "''", "n": "0"} {
		missing := strings.Replace(nulls, "EDIT", field+`: "${{ state.any.missing }}"`, 1)
		failing(t, missing, `{"any": {}}`, "main.yaml:6:", "field "+field+" got null", "??")
		guarded := strings.Replace(nulls, "EDIT", field+`: "${{ state.any.missing ?? `+base+` }}"`, 1)
		if _, err := parse(t, guarded).start(`{"any": {}}`); err != nil {
			t.Errorf("a guarded %s: %v", field, err)
		}
		written := strings.Replace(nulls, "EDIT", field+`: null`, 1)
		if _, err := parse(t, written).start(`{"any": {}}`); err != nil {
			t.Errorf("a null that clears %s: %v", field, err)
		}
	}
	if _, err := parse(t, strings.Replace(nulls, "EDIT", `any: "${{ state.any.missing }}"`, 1)).start(`{"any": {}}`); err != nil {
		t.Errorf("a field of any type may be null: %v", err)
	}
}

func TestForEach_NullListIsAnError(t *testing.T) {
	failing(t, `
version: 1
state: {any: any, n: {type: int, reducer: add}}
input: [any]
nodes:
  a: {for_each: {in: state.any.missing, as: i}, set: {n: 1}, next: END}
`, `{"any": {}}`, "main.yaml:6:", "not null")
}

func TestForEach_NamesFailedItem(t *testing.T) {
	failing(t, `
version: 1
state: {n: {type: int, reducer: add}}
nodes:
  a:
    for_each: {in: "[1, 2, 0]", as: i}
    set: {n: "${{ int(6 / i) > 0 ? [1, 2][i - 1] : [1][i + 5] }}"}
    next: END
`, `{}`, "item 3: ")
}
