package checkpoint

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
)

// Size is how many bytes a field takes.
type Size struct {
	Thread    string
	Namespace string
	Field     string
	Bytes     int
	Share     float64 // of all fields of the thread, from 0 to 1; 0 in Codec.Warn
	Added     int     // in Codec.Warn: the bytes since the commit before
}

// SizeReport is the size of each field of a thread, the greatest first.
type SizeReport struct {
	Thread string
	Bytes  int // of all fields
	Fields []Size
}

// Sizes returns the stored size of each field in the newest commit of each namespace. It loads no
// values. It does not count values that only older commits need, which Prune may drop. An unknown
// thread is an ErrNotFound.
func Sizes(ctx context.Context, store Store, thread string) (SizeReport, error) {
	report := SizeReport{Thread: thread}
	if err := CheckThread(thread); err != nil {
		return report, err
	}
	spaces, err := store.Namespaces(ctx, thread)
	if err == nil && len(spaces) == 0 {
		err = fmt.Errorf("%w: thread %q", ErrNotFound, thread)
	}
	if err != nil {
		return report, err
	}
	for _, ns := range spaces {
		if err := report.add(ctx, store, Key{thread, ns}); err != nil {
			return report, err
		}
	}
	for i := range report.Fields {
		if report.Bytes > 0 {
			report.Fields[i].Share = float64(report.Fields[i].Bytes) / float64(report.Bytes)
		}
	}
	slices.SortStableFunc(report.Fields, func(a, b Size) int { return cmp.Compare(b.Bytes, a.Bytes) })
	return report, nil
}

func (r *SizeReport) add(ctx context.Context, store Store, k Key) error {
	for snap, err := range store.History(ctx, k, Query{Limit: 1}) {
		if err != nil {
			return err
		}
		rec, err := ReadRecord(snap)
		if err != nil {
			return err
		}
		for _, f := range rec.Fields {
			n := f.BaseBytes + f.ChunkBytes
			r.Bytes += n
			r.Fields = append(r.Fields, Size{Thread: k.Thread, Namespace: k.Namespace, Field: f.Name, Bytes: n})
		}
	}
	return nil
}

// String returns a text with a line for each field that has a value.
func (r SizeReport) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "thread %q takes %s", r.Thread, bytesText(r.Bytes))
	for _, f := range r.Fields {
		if f.Bytes == 0 {
			continue
		}
		name := f.Field
		if f.Namespace != "" {
			name = f.Namespace + " " + name
		}
		fmt.Fprintf(&b, "\n%s is %.0f %% of this thread: %s", name, 100*f.Share, bytesText(f.Bytes))
	}
	return b.String()
}

// bytesText returns a number of bytes for people.
func bytesText(n int) string {
	switch {
	case n < 1<<10:
		return fmt.Sprintf("%d B", n)
	case n < 1<<20:
		return fmt.Sprintf("%.1f KiB", float64(n)/(1<<10))
	}
	return fmt.Sprintf("%.1f MiB", float64(n)/(1<<20))
}
