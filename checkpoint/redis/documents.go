package redis

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/checkpoint/document"
	"github.com/weftrun/weft/internal/brief"
)

// Documents returns the documents under this prefix, for all processes that share it. They have the
// guarantees of the Store, and can be used until the Store is closed. Documents sends the server
// nothing, and returns an error only if ctx has ended.
//
// A partition is two keys in one slot of a cluster, and a write to it is one script. Partitions of
// the same name share a slot, in all collections. The list of partitions is in another slot: a
// process that writes to a partition for the first time in an hour, or to an empty one, first puts
// it on that list. If the reply to a conditional deletion is lost, the deletion may return a
// conflict with version 0.
func (s *Store) Documents(ctx context.Context) (document.Store, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return document.Over(documents{s.memories("d")}), nil
}

// documents is a Store as a document.Table. The list of partitions has the same form as the list of
// namespaces in memory.go, and uses the same scripts.
type documents struct{ *memories }

var _ document.Table = documents{}

// documentKey returns the first key of a partition. The colon after the collection keeps it apart
// from listKey, which has none there.
func (d documents) documentKey(p document.Place) string {
	return d.cfg.Prefix + ":d:" + encode(p.Collection) + ":{" + encode(p.Partition) + "}"
}

// listName returns the name of a partition in the list of partitions.
func listName(p document.Place) string { return p.Collection + "\x00" + p.Partition }

// Write implements document.Table.
func (d documents) Write(ctx context.Context, w document.Write) ([]document.Doc, error) {
	args, puts := []any{w.Name, ""}, false
	for _, c := range w.Changes {
		kind, wanted := "D", ""
		if c.Value != nil {
			kind, puts = "P", true
		}
		if c.If != nil {
			wanted = decimal(*c.If)
		}
		args = append(args, kind, c.ID, wanted, c.Order, []byte(c.Value))
	}
	if size := sizeOf(args); size > d.cfg.MaxBytes {
		return nil, fmt.Errorf("%w: redis: the write has %d bytes, Config.MaxBytes is %d", document.ErrTooLarge, size, d.cfg.MaxBytes)
	}
	reply, err := d.write(ctx, documentWriteScript, d.documentKey(w.Place), listName(w.Place), puts, args)
	if err != nil {
		return nil, err
	}
	return writtenDocuments(reply, w)
}

// writtenDocuments reads the reply to a write.
func writtenDocuments(reply any, w document.Write) ([]document.Doc, error) {
	list, _ := reply.([]any)
	if len(list) > 1 && (list[0] == "C" || list[0] == "X") {
		return nil, refusedDocument(list, w)
	}
	if len(list) != len(w.Changes)+1 || list[0] != "K" && list[0] != "D" {
		return nil, fmt.Errorf("%w: redis: a write of documents is answered by %.100v", checkpoint.ErrCorrupt, reply)
	}
	docs := make([]document.Doc, len(w.Changes))
	for i, c := range w.Changes {
		text, _ := list[i+1].(string)
		if text == "" {
			continue
		}
		if list[0] == "K" { // only the head came back
			text += "\n" + c.Order + string(c.Value)
		}
		var err error
		if docs[i], err = readDocument(w.Place, c.ID, text); err != nil {
			return nil, err
		}
		if head, _, _ := strings.Cut(text, "\n"); !strings.HasSuffix(head, " "+w.Name) {
			docs[i].Version = 0 // see document.Write.Plan
		}
	}
	return docs, nil
}

// refusedDocument returns the error for a reply that names the change that was refused.
func refusedDocument(list []any, w document.Write) error {
	n, _ := list[1].(int64)
	c := w.Changes[min(int(n), len(w.Changes)-1)]
	if list[0] == "X" {
		return noDocument(w.Place, c.ID)
	}
	text, _ := list[len(list)-1].(string)
	version, err := strconv.ParseUint(text, 10, 64)
	if err != nil || c.If == nil {
		return fmt.Errorf("%w: redis: a write of documents is answered by %.100v", checkpoint.ErrCorrupt, list)
	}
	return &document.ConflictError{Place: w.Place, ID: c.ID, Want: *c.If, Version: version}
}

func noDocument(p document.Place, id string) error {
	return fmt.Errorf("%w: redis: %v, id %q: this is no record of a document", checkpoint.ErrCorrupt, p, id)
}

// readDocument reads a record; document_common.lua describes its form.
func readDocument(p document.Place, id, text string) (document.Doc, error) {
	head, rest, ok := strings.Cut(text, "\n")
	parts := strings.Split(head, " ")
	if !ok || len(parts) != 4 {
		return document.Doc{}, noDocument(p, id)
	}
	var n [3]uint64
	for i := range n {
		var err error
		if n[i], err = strconv.ParseUint(parts[i], 10, 64); err != nil {
			return document.Doc{}, fmt.Errorf("%w (%w)", noDocument(p, id), err)
		}
	}
	if n[2] > uint64(len(rest)) {
		return document.Doc{}, noDocument(p, id)
	}
	return document.Doc{Place: p, ID: id, Order: rest[:n[2]], Value: []byte(rest[n[2]:]), Version: n[0], Seq: n[1]}, nil
}

// Read implements document.Table.
func (d documents) Read(ctx context.Context, p document.Place, id string) (document.Doc, bool, error) {
	reply, err := d.call(ctx, documentReadScript, d.documentKey(p), []any{id})
	text, found := reply.(string)
	if err != nil || !found {
		return document.Doc{}, false, err
	}
	doc, err := readDocument(p, id, text)
	return doc, err == nil, err
}

// Scan implements document.Table.
func (d documents) Scan(ctx context.Context, s document.Scan) ([]document.Doc, bool, error) {
	if s.Partition != "" {
		return d.scanOne(ctx, s)
	}
	return d.scanAll(ctx, s)
}

// scanOne reads a page of one partition.
func (d documents) scanOne(ctx context.Context, s document.Scan) ([]document.Doc, bool, error) {
	direction := "F"
	if s.Reverse {
		direction = "R"
	}
	from, to := lexRange(s)
	reply, err := d.call(ctx, documentScanScript, d.documentKey(s.Place), []any{direction, from, to, s.Limit, document.MaxPage})
	if err != nil {
		return nil, false, err
	}
	list, _ := reply.([]any)
	if len(list)%2 != 1 {
		return nil, false, fmt.Errorf("%w: redis: a scan of documents is answered by %.100v", checkpoint.ErrCorrupt, reply)
	}
	var docs []document.Doc
	for i := 1; i < len(list); i += 2 {
		id, _ := list[i].(string)
		text, _ := list[i+1].(string)
		doc, err := readDocument(s.Place, id, text)
		if err != nil {
			return nil, false, err
		}
		docs = append(docs, doc)
	}
	return docs, list[0] == int64(1), nil
}

// lexRange returns the bounds of a scan in the syntax of ZRANGEBYLEX. No id has a byte 255, so
// "\xff" comes after every id.
func lexRange(s document.Scan) (from, to string) {
	from, to = "-", "+"
	if s.From != "" {
		from = "[" + s.From
	}
	if s.Until != "" {
		to = "(" + s.Until
	}
	if s.After == nil {
		return from, to
	}
	after := fmt.Sprintf("(%s\x00%016d", s.After.Order, s.After.Seq)
	if s.Reverse {
		return from, after
	}
	return after + "\xff", to
}

// scanAll reads a page of a collection. It reads a few partitions at once, and drops what comes
// after the first partition that has more. A scan without bounds removes empty partitions from the
// list.
func (d documents) scanAll(ctx context.Context, s document.Scan) (docs []document.Doc, more bool, err error) {
	after := ""
	if s.After != nil {
		begun := s
		begun.Partition = s.After.Partition
		if docs, more, err = d.scanOne(ctx, begun); err != nil || more || len(docs) == s.Limit {
			return docs, true, err
		}
		after = s.After.Partition
	}
	s.After = nil
	for size := 0; ; {
		one := brief.OneCall(ctx)
		names, others, err := d.partitions(one, s, after)
		if err != nil {
			return nil, false, err
		}
		pages, err := d.pages(one, s, names, s.Limit-len(docs))
		if err != nil {
			return nil, false, err
		}
		for i, p := range pages {
			n := min(len(p.docs), s.Limit-len(docs))
			for _, doc := range p.docs[:n] {
				docs, size = append(docs, doc), size+len(doc.Value)
			}
			if left := n < len(p.docs) || p.more; left || len(docs) == s.Limit || size > document.MaxPage {
				return docs, left || others || i < len(pages)-1, nil
			}
			after = names[i]
		}
		if !others {
			return docs, false, nil
		}
	}
}

// documentPage is a page of one partition. more reports whether the partition has more documents.
type documentPage struct {
	docs []document.Doc
	more bool
}

// pages reads a page of each partition of names.
func (d documents) pages(ctx context.Context, s document.Scan, names []string, limit int) ([]documentPage, error) {
	pages := make([]documentPage, len(names))
	err := inParallel(len(names), func(i int) (err error) {
		one := s
		one.Partition, one.Limit = names[i], limit
		if pages[i].docs, pages[i].more, err = d.scanOne(ctx, one); err == nil && len(pages[i].docs) == 0 && s.From == "" && s.Until == "" {
			_, err = d.call(ctx, memoryMendScript, d.listKey(), []any{listName(one.Place), int(keepList.Seconds())})
		}
		return err
	})
	return pages, err
}

// partitions returns the next partitions of the list, also those that are empty.
func (d documents) partitions(ctx context.Context, s document.Scan, after string) (names []string, more bool, err error) {
	command, from, to := "zrangebylex", "["+s.Collection+"\x00", "("+s.Collection+"\x01"
	switch {
	case s.Reverse && after != "":
		command, from, to = "zrevrangebylex", "("+s.Collection+"\x00"+after, from
	case s.Reverse:
		command, from, to = "zrevrangebylex", to, from
	case after != "":
		from = "(" + s.Collection + "\x00" + after
	}
	reply, err := d.ask(ctx, d.listKey(), command, d.listKey(), from, to, "limit", 0, atOnce)
	list, _ := reply.([]any)
	for _, v := range list {
		name, _ := v.(string)
		names = append(names, strings.TrimPrefix(name, s.Collection+"\x00"))
	}
	return names, len(names) == atOnce, err
}

// Count implements document.Table.
func (d documents) Count(ctx context.Context, s document.Scan) (n int, err error) {
	if s.Partition != "" {
		return d.countOne(ctx, s)
	}
	for after, more := "", true; more; {
		var names []string
		one := brief.OneCall(ctx)
		if names, more, err = d.partitions(one, document.Scan{Place: s.Place}, after); err != nil || len(names) == 0 {
			return n, err
		}
		counts := make([]int, len(names))
		err = inParallel(len(names), func(i int) (err error) {
			part := s
			part.Partition = names[i]
			counts[i], err = d.countOne(one, part)
			return err
		})
		if err != nil {
			return 0, err
		}
		for _, c := range counts {
			n += c
		}
		after = names[len(names)-1]
	}
	return n, nil
}

// countOne counts the documents of one partition.
func (d documents) countOne(ctx context.Context, s document.Scan) (int, error) {
	from, to := lexRange(document.Scan{From: s.From, Until: s.Until})
	reply, err := d.call(ctx, documentCountScript, d.documentKey(s.Place), []any{from, to})
	n, ok := reply.(int64)
	if err == nil && !ok {
		err = fmt.Errorf("%w: redis: a count of documents is answered by %.100v", checkpoint.ErrCorrupt, reply)
	}
	return int(n), err
}

// Clear implements document.Table.
func (d documents) Clear(ctx context.Context, p document.Place) error {
	if p.Partition != "" {
		_, err := d.call(ctx, documentClearScript, d.documentKey(p), nil)
		return err
	}
	for after, more := "", true; more; {
		var names []string
		var err error
		one := brief.OneCall(ctx)
		if names, more, err = d.partitions(one, document.Scan{Place: p}, after); err != nil || len(names) == 0 {
			return err
		}
		err = inParallel(len(names), func(i int) error {
			return d.Clear(one, document.At(p.Collection, names[i]))
		})
		if err != nil {
			return err
		}
		after = names[len(names)-1]
	}
	return nil
}
