package temporal

import (
	"encoding/json"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/converter"
)

type (
	activityInfo = activity.Info
	encoded      = converter.EncodedValue
)

// sizeOf returns how many bytes a result has as JSON.
func sizeOf(v encoded) int {
	var data json.RawMessage
	if v == nil || !v.HasValue() || v.Get(&data) != nil {
		return 0
	}
	return len(data)
}
