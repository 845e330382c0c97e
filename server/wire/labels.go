package wire

import (
	"encoding/json"
	"strings"
)

// Labels returns metadata as labels of a commit, which are strings. A value that is no string is
// stored as "=" and its JSON, and so is a string that begins with "=".
func Labels(metadata Object) map[string]string {
	if len(metadata) == 0 {
		return nil
	}
	all := make(map[string]string, len(metadata))
	for name, v := range metadata {
		var s string
		if json.Unmarshal(v, &s) == nil && !isNull(v) && !strings.HasPrefix(s, "=") {
			all[name] = s
			continue
		}
		if isNull(v) {
			v = json.RawMessage("null")
		}
		all[name] = "=" + string(v)
	}
	return all
}

// Metadata reverses Labels. A label that others wrote is a string.
func Metadata(labels map[string]string) Object {
	all := make(Object, len(labels))
	for name, s := range labels {
		if v, ok := strings.CutPrefix(s, "="); ok && json.Valid([]byte(v)) {
			all[name] = json.RawMessage(v)
			continue
		}
		all[name], _ = json.Marshal(s) // of a string
	}
	return all
}

// set sets a member to a value that has a JSON form.
func (o Object) set(name string, v any) {
	o[name], _ = json.Marshal(v)
}
