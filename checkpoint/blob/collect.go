package blob

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"time"

	"github.com/weftrun/weft/checkpoint"
)

// DefaultGrace is the grace of a collection whose Grace is 0.
const DefaultGrace = 24 * time.Hour

// claimsAtOnce is how many claims one call reads or releases.
const claimsAtOnce = 256

// Claims yields the claims of an owner, in order of the hash.
func (s *Store) Claims(ctx context.Context, owner string) iter.Seq2[Claim, error] {
	return func(yield func(Claim, error) bool) {
		after := ""
		for {
			page, err := s.table.Claims(ctx, owner, after, claimsAtOnce)
			if err != nil {
				yield(Claim{}, fmt.Errorf("blob: claims of %.80q: %w", owner, err))
				return
			}
			for _, c := range page {
				if !yield(c, nil) {
					return
				}
			}
			if len(page) < claimsAtOnce {
				return
			}
			after = page[len(page)-1].Hash
		}
	}
}

// Claimed reports whether an owner claims a blob, and returns its claim.
func (s *Store) Claimed(ctx context.Context, owner, hash string) (c Claim, ok bool, err error) {
	if err := errors.Join(checkOwner(owner), checkHash(hash)); err != nil {
		return c, false, err
	}
	before := hash[:len(hash)-1] // at most 16 hashes begin so
	page, err := s.table.Claims(ctx, owner, before, 16)
	if err != nil {
		return c, false, fmt.Errorf("blob: claims of %.80q: %w", owner, err)
	}
	if i := slices.IndexFunc(page, func(c Claim) bool { return c.Hash == hash }); i >= 0 {
		return page[i], true, nil
	}
	return c, false, nil
}

// Owners yields the owners that have claims.
func (s *Store) Owners(ctx context.Context) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		after := ""
		for {
			page, err := s.table.Owners(ctx, after, claimsAtOnce)
			if err != nil {
				yield("", fmt.Errorf("blob: owners: %w", err))
				return
			}
			for _, owner := range page {
				if !yield(owner, nil) {
					return
				}
			}
			if len(page) < claimsAtOnce {
				return
			}
			after = page[len(page)-1]
		}
	}
}

// Release ends the claims of an owner for which uses returns false, if they were neither made nor
// renewed within the grace; 0 means DefaultGrace, and a negative grace none. A blob without claims
// is removed. uses is only called if there is such a claim.
func (s *Store) Release(ctx context.Context, owner string, grace time.Duration, uses func(ctx context.Context) (map[string]bool, error)) (freed Freed, err error) {
	now := s.now()
	before := cutoff(now, grace)
	var old []string
	for c, err := range s.Claims(ctx, owner) {
		if err != nil {
			return freed, err
		}
		if c.At.Before(before) {
			old = append(old, c.Hash)
		}
	}
	if len(old) == 0 {
		return freed, nil
	}
	used, err := uses(ctx)
	if err != nil {
		return freed, err
	}
	var page []string
	flush := func() error {
		f, err := s.table.Release(ctx, owner, page, before, now)
		freed.Add(f)
		page = page[:0]
		if err != nil {
			err = fmt.Errorf("blob: release of %.80q: %w", owner, err)
		}
		return err
	}
	for _, h := range old {
		if used[h] {
			continue
		}
		if page = append(page, h); len(page) == claimsAtOnce {
			if err := flush(); err != nil {
				return freed, err
			}
		}
	}
	if len(page) > 0 {
		err = flush()
	}
	return freed, err
}

func cutoff(now time.Time, grace time.Duration) time.Time {
	switch {
	case grace == 0:
		grace = DefaultGrace
	case grace < 0:
		return now.Add(time.Millisecond) // what was claimed before now
	}
	return now.Add(-grace)
}

// Sweep removes the uploads that were begun before the grace and did not end, and what removals
// that were cut off have left.
func (s *Store) Sweep(ctx context.Context, grace time.Duration) error {
	if err := s.table.Sweep(ctx, cutoff(s.now(), grace)); err != nil {
		return fmt.Errorf("blob: sweep: %w", err)
	}
	return nil
}

// Collect calls [checkpoint.CollectBlobs] for all threads of a store that has these blobs, and then
// Sweep. It leaves out a thread that another program holds. So it also removes the blobs of threads
// that were deleted or have expired. All owners of the blobs must be threads of the store.
func Collect(ctx context.Context, threads checkpoint.Store, blobs *Store, grace time.Duration) (freed Freed, err error) {
	if checkpoint.BlobsIn(threads) == nil {
		return freed, fmt.Errorf("blob: collect: %w", checkpoint.ErrNoBlobs)
	}
	for owner, err := range blobs.Owners(ctx) {
		if err != nil {
			return freed, err
		}
		f, err := collectHeld(ctx, threads, owner)
		freed.Add(f)
		if err != nil && !errors.Is(err, checkpoint.ErrOwned) {
			return freed, err
		}
	}
	return freed, blobs.Sweep(ctx, grace)
}

// collectHeld collects the blobs of a thread that it holds meanwhile.
func collectHeld(ctx context.Context, threads checkpoint.Store, thread string) (freed Freed, err error) {
	held, err := checkpoint.Hold(ctx, threads, thread, checkpoint.HoldOptions{Owner: "collection of blobs"})
	if err != nil {
		return freed, err
	}
	defer func() { err = errors.Join(err, held.Release(context.WithoutCancel(ctx))) }()
	return checkpoint.CollectBlobs(held.Context(), threads, thread)
}
