package sqlite

import (
	"errors"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/weftrun/weft/checkpoint"
)

// The labels of a commit are one column, in order of their keys. Each label is 0xFF, the key, 0xFE
// and the value; a 0xFF ends the column. Valid UTF-8 never contains these two bytes, so SQLite's
// instr finds a label by its bytes from 0xFF to 0xFF. The checksum of the references covers the
// labels too.
const (
	beforeKey   = "\xff"
	beforeValue = "\xfe"
)

func encodeLabels(labels map[string]string) []byte {
	b := []byte{}
	for _, key := range slices.Sorted(maps.Keys(labels)) {
		b = append(append(append(append(b, beforeKey...), key...), beforeValue...), labels[key]...)
	}
	if len(b) > 0 {
		b = append(b, beforeKey...)
	}
	return b
}

var errLabels = errors.New("the labels are cut off")

// decodeLabels returns nil for a commit without labels.
func decodeLabels(b []byte) (map[string]string, error) {
	if len(b) == 0 {
		return nil, nil
	}
	inner, front := strings.CutPrefix(string(b), beforeKey)
	inner, back := strings.CutSuffix(inner, beforeKey)
	if !front || !back {
		return nil, errLabels
	}
	labels := map[string]string{}
	for part := range strings.SplitSeq(inner, beforeKey) {
		key, value, found := strings.Cut(part, beforeValue)
		if !found {
			return nil, errLabels
		}
		labels[key] = value
	}
	return labels, nil
}

// having returns the condition that a commit has some labels, and its arguments. The text depends
// only on their number; keys and values are always arguments.
func having(where map[string]string, column string) (text string, args []any) {
	for _, key := range slices.Sorted(maps.Keys(where)) {
		if !utf8.ValidString(key) || !utf8.ValidString(where[key]) {
			return " AND 0", nil // no label is like that
		}
		text += " AND instr(" + column + ", ?) > 0"
		args = append(args, encodeLabels(map[string]string{key: where[key]}))
	}
	return text, args
}

// setColumns decodes the labels and references of a row of commits into a snapshot.
func setColumns(snap *checkpoint.Snapshot, labels, refs []byte) (err error) {
	if snap.Refs, err = decodeRefs(refs, labels); err == nil {
		snap.Labels, err = decodeLabels(labels)
	}
	if err != nil {
		return &checkpoint.CorruptError{Key: snap.Key, Seq: snap.Seq, Field: "header", Why: err.Error()}
	}
	return nil
}
