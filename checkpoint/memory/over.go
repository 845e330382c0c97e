package memory

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/weftrun/weft/internal/brief"
)

// Over returns a Store that uses a Table. Over itself does not call the table.
func Over(t Table) Store { return over{t} }

type over struct{ table Table }

func (o over) Put(ctx context.Context, namespace []string, key string, value json.RawMessage, opts Options) (Item, error) {
	if value == nil {
		return Item{}, place(namespace, key, fmt.Errorf("%w: there is none", ErrValue))
	}
	items, err := o.Batch(ctx, namespace, []Op{{Key: key, Value: value, Options: opts}})
	if err != nil {
		return Item{}, err
	}
	return items[0], nil
}

func (o over) Get(ctx context.Context, namespace []string, key string) (Item, error) {
	if err := checkAddress(namespace, key); err != nil {
		return Item{}, err
	}
	ctx = brief.OneCall(ctx)
	item, found, err := o.table.Read(ctx, namespace, key)
	if err != nil {
		return Item{}, place(namespace, key, err)
	}
	if found && item.Refresh > 0 {
		item, err = o.touch(ctx, namespace, key)
		found = item.Version != 0
	}
	if err == nil && !found {
		err = ErrNotFound
	}
	if err != nil {
		return Item{}, place(namespace, key, err)
	}
	return item, nil
}

func (o over) touch(ctx context.Context, namespace []string, key string) (Item, error) {
	rows, err := o.table.Write(ctx, Write{Namespace: slices.Clone(namespace), ID: rand.Text(), Changes: []Change{{Key: key, Touch: true}}})
	if err != nil {
		return Item{}, err
	}
	return rows[0], nil
}

func (o over) Delete(ctx context.Context, namespace []string, key string) error {
	_, err := o.Batch(ctx, namespace, []Op{{Key: key}})
	return err
}

func (o over) Batch(ctx context.Context, namespace []string, ops []Op) ([]Item, error) {
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("memory: %w", err)
	}
	w, err := newWrite(namespace, ops)
	if err != nil || len(ops) == 0 {
		return nil, err
	}
	items, err := o.table.Write(ctx, w)
	if err != nil {
		return nil, place(namespace, "", err)
	}
	return items, nil
}

// newWrite checks a batch. Its result shares no memory with the caller.
func newWrite(namespace []string, ops []Op) (Write, error) {
	if err := CheckNamespace(namespace); err != nil {
		return Write{}, err
	}
	if len(ops) > MaxBatch {
		return Write{}, place(namespace, "", fmt.Errorf("%w: the batch has %d changes, the limit is %d", ErrTooLarge, len(ops), MaxBatch))
	}
	w := Write{Namespace: slices.Clone(namespace), ID: rand.Text(), Changes: make([]Change, len(ops))}
	size, seen := 0, make(map[string]bool, len(ops))
	for i, op := range ops {
		c, err := op.change()
		if err == nil && seen[op.Key] {
			err = fmt.Errorf("%w: the batch has the key twice", ErrRequest)
		}
		if size += len(c.Value); err == nil && size > MaxBatchSize {
			err = fmt.Errorf("%w: the batch has more than %d bytes up to here", ErrTooLarge, MaxBatchSize)
		}
		if err != nil {
			return Write{}, place(namespace, op.Key, err)
		}
		seen[op.Key], w.Changes[i] = true, c
	}
	return w, nil
}

// change checks an Op.
func (op Op) change() (Change, error) {
	c := Change{Key: strings.Clone(op.Key), Options: op.Options}
	if op.If != nil {
		c.If = new(*op.If)
	}
	if err := CheckKey(op.Key); err != nil || op.Value == nil {
		return c, err
	}
	if err := checkTTL(op.Options); err != nil {
		return c, err
	}
	data, tree, err := checkValue(op.Value)
	c.Value, c.Words = data, distinctWords(tree)
	return c, err
}

func checkAddress(namespace []string, key string) error {
	if err := CheckNamespace(namespace); err != nil {
		return err
	}
	if err := CheckKey(key); err != nil {
		return place(namespace, key, err)
	}
	return nil
}

// place adds the place to an error.
func place(namespace []string, key string, err error) error {
	if key == "" {
		return fmt.Errorf("namespace %.200q: %w", namespace, err)
	}
	return fmt.Errorf("namespace %.200q, key %.200q: %w", namespace, key, err)
}
