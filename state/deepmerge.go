package state

import (
	"fmt"
	"maps"
)

// DeepMerge is the reducer of JSON Merge Patch (RFC 7396): objects are merged member by
// member, on every level; a null removes what is there; anything else replaces it, lists
// as a whole. As a channel it is Reduced[map[string]any, DeepMerge].
type DeepMerge struct{}

// Reduce implements [Reducer]. It panics if a patch is nested deeper than encoding/json can decode,
// for example because it contains itself. The panic counts as one of the node that wrote the patch.
func (DeepMerge) Reduce(acc, patch map[string]any) map[string]any {
	merged, _ := mergePatch(acc, patch, 0).(map[string]any)
	return merged
}

// maxPatchDepth is the depth that encoding/json can decode.
const maxPatchDepth = 10000

// mergePatch returns target with patch merged into it. It modifies neither.
func mergePatch(target, patch any, depth int) any {
	if depth > maxPatchDepth {
		panic(fmt.Sprintf("state: a patch is nested deeper than %d levels", maxPatchDepth))
	}
	members, ok := patch.(map[string]any)
	if !ok {
		return patch
	}
	old, _ := target.(map[string]any)
	merged := maps.Clone(old)
	if merged == nil {
		merged = make(map[string]any, len(members))
	}
	for name, v := range members {
		if v == nil {
			delete(merged, name)
			continue
		}
		merged[name] = mergePatch(merged[name], v, depth+1)
	}
	return merged
}
