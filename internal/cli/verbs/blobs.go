package verbs

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/checkpoint/blob"
	"github.com/weftrun/weft/internal/cli/reports"
)

// withBlobs gives a store the blobs that --blobs names. It closes the store if that fails.
func (a *app) withBlobs(ctx context.Context, store checkpoint.Store) (checkpoint.Store, error) {
	if a.grants.blobs == "" {
		return store, nil
	}
	blobs, err := a.openBlobs(ctx, store)
	if err == nil {
		var with checkpoint.Store
		if with, err = checkpoint.WithBlobs(store, blobs, checkpoint.BlobOptions{}); err == nil {
			return with, nil
		}
	}
	return nil, errors.Join(err, store.Close())
}

// openBlobs opens the blobs that --blobs names.
func (a *app) openBlobs(ctx context.Context, store checkpoint.Store) (*blob.Store, error) {
	dir, folder := strings.CutPrefix(a.grants.blobs, "folder:")
	switch {
	case a.grants.blobs == "store":
		s, ok := store.(interface {
			Blobs(context.Context) (*blob.Store, error)
		})
		if !ok {
			return nil, a.keepsNo("blobs")
		}
		return s.Blobs(ctx)
	case folder && dir != "":
		return blob.Over(blob.Folder(dir)), nil
	case strings.HasPrefix(a.grants.blobs, "s3:"):
		return nil, reports.Usage("build a program with the module github.com/weftrun/weft/blobs3", "this program has no client for S3, as %q needs", a.grants.blobs)
	}
	return nil, reports.Usage("write --blobs store or --blobs folder:DIR", "the blobs %q are unknown", a.grants.blobs)
}

func (a *app) blobsVerb() *cobra.Command {
	var collect bool
	var output string
	grace := blob.DefaultGrace
	cmd := &cobra.Command{
		Use:   "blobs [THREAD [HASH]]",
		Short: "Show the blobs that threads claim, print one, or remove those that are not used",
		Long: `Blobs shows for each thread how many blobs it claims and how large they are. A blob that
several threads claim is stored once. Without --blobs it looks into the store of the threads.

With THREAD it lists the blobs of that thread, and with HASH, or the first digits of it, it writes
the content of one to stdout or to the file of --output, which must not exist.

With --collect it ends the claims that no checkpoint needs any more, also those of threads that
were deleted or have expired, and removes the blobs that nothing claims. Claims younger than
--grace stay, and so do those of threads on which a process works.`,
		Args: a.arguments("[THREAD [HASH]]", 0, 2),
		RunE: func(cmd *cobra.Command, args []string) error {
			switch {
			case grace <= 0:
				return reports.Usage("write a time such as 24h", "--grace must be positive (got %v)", grace)
			case !collect && cmd.Flags().Changed("grace"):
				return reports.Usage("add --collect", "--grace requires --collect")
			case collect && len(args) > 0:
				return reports.Usage("leave out the thread", "--collect is for all threads")
			case output != "" && len(args) < 2:
				return reports.Usage(a.Command("blobs", "THREAD", "HASH", "--output", output), "--output takes one blob")
			}
			if a.grants.blobs == "" {
				a.grants.blobs = "store"
			}
			if _, missing := a.missingFile(); missing && len(args) == 0 {
				return nil
			} else if missing {
				return (&session{app: a, thread: args[0]}).unknownThread()
			}
			return withStore(cmd.Context(), a.open, func(store checkpoint.Store) error {
				blobs, err := a.openBlobs(cmd.Context(), checkpoint.Unwrap(store))
				if err != nil {
					return err
				}
				switch {
				case collect:
					return a.collectBlobs(cmd.Context(), checkpoint.Unwrap(store), blobs, grace)
				case len(args) == 0:
					return a.listBlobs(cmd.Context(), blobs)
				}
				s := &session{app: a, store: store, thread: args[0]}
				if err := s.lengthen(cmd.Context()); err != nil {
					return err
				}
				if len(args) == 1 {
					return s.printClaims(cmd.Context(), blobs)
				}
				return a.printBlob(cmd.Context(), blobs, s.thread, args[1], output)
			})
		},
	}
	cmd.Flags().BoolVar(&collect, "collect", false, "end the claims that are not needed, and remove what nothing claims")
	cmd.Flags().StringVar(&output, "output", "", "a new file for the content of the blob")
	cmd.Flags().DurationVar(&grace, "grace", grace, "the age from which a claim may end")
	return onThreads(cmd)
}

func (a *app) collectBlobs(ctx context.Context, store checkpoint.Store, blobs *blob.Store, grace time.Duration) error {
	with, err := checkpoint.WithBlobs(store, blobs, checkpoint.BlobOptions{Grace: grace})
	if err != nil {
		return err
	}
	freed, err := blob.Collect(ctx, with, blobs, grace)
	if err != nil {
		return err
	}
	if a.JSON {
		return a.PrintJSON(struct {
			Removed int   `json:"removed"`
			Bytes   int64 `json:"bytes"`
		}{freed.Blobs, freed.Bytes})
	}
	_, err = fmt.Fprintf(a.Stdout, "removed %d blobs of %d bytes\n", freed.Blobs, freed.Bytes)
	return err
}

func (a *app) listBlobs(ctx context.Context, blobs *blob.Store) error {
	for owner, err := range blobs.Owners(ctx) {
		if err != nil {
			return err
		}
		n, bytes := 0, int64(0)
		for c, err := range blobs.Claims(ctx, owner) {
			if err != nil {
				return err
			}
			n, bytes = n+1, bytes+c.Size
		}
		if a.JSON {
			err = a.PrintJSON(struct {
				Thread string `json:"thread"`
				Blobs  int    `json:"blobs"`
				Bytes  int64  `json:"bytes"`
			}{owner, n, bytes})
		} else {
			_, err = fmt.Fprintf(a.Stdout, "thread %s: %d blobs of %d bytes\n", reports.Cell(owner), n, bytes)
		}
		if err != nil {
			return err
		}
	}
	return nil
}
