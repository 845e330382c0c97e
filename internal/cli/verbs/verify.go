package verbs

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"

	"github.com/spf13/cobra"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/graph"
	"github.com/weftrun/weft/internal/cli/reports"
)

// verifyFlags are the flags of verify.
type verifyFlags struct {
	trust []string // files with public keys
	has   string   // a hash
	bulk  bulkFlags
}

func (a *app) verifyVerb() *cobra.Command {
	var f verifyFlags
	cmd := &cobra.Command{
		Use:   "verify THREAD | --where KEY=VALUE",
		Short: "Check that the history of a thread, or of many, was not changed",
		Long: `Verify checks that each checkpoint and each decision follows the one whose hash it
carries, that all values are those that were stored, and the signatures of decisions.
Threads carry hashes if they were begun with --hashes, and decisions are signed with
--sign FILE. It names the first change, and exits with 1.

With --trust FILE each decision must be signed with one of these keys. With --hashes each
checkpoint must carry a hash. With --has HASH, which an earlier verify printed, that
checkpoint must still be in the history.

` + bulkHelp,
		Args: f.bulk.arguments(a, 0),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := f.bulk.check(cmd, "has"); err != nil {
				return err
			}
			if cmd.Flags().Changed("has") && !wholeHash.MatchString(f.has) {
				return reports.Usage("give the hash that verify prints", "a hash must have 64 hex digits (got %.80q)", f.has)
			}
			trusted, err := readPublicKeys(f.trust)
			if err != nil {
				return err
			}
			if f.bulk.on() {
				return a.onSelected(cmd.Context(), a.openToRead, "verify", f.bulk, func(ctx context.Context, s *session, _ graph.CommitInfo) (bulkOutcome, error) {
					return s.verifyOne(ctx, trusted, f.bulk.dryRun)
				})
			}
			return a.onThread(cmd.Context(), a.openToRead, args[0], func(s *session) error { return s.verify(cmd.Context(), trusted, f.has) })
		},
	}
	cmd.Flags().StringArrayVar(&f.trust, "trust", nil, "a FILE with public keys in PEM, one of which must sign each decision; repeatable")
	cmd.Flags().StringVar(&f.has, "has", "", "the hash of a checkpoint that must be in the history")
	f.bulk.flags(cmd)
	return cmd
}

var wholeHash = regexp.MustCompile(`^[0-9a-f]{64}$`)

func (s *session) verify(ctx context.Context, trusted []ed25519.PublicKey, has string) error {
	if err := s.lengthen(ctx); err != nil {
		return err
	}
	v, err := graph.VerifyThread(ctx, s.store, s.thread, trusted...)
	if errors.Is(err, graph.ErrUnknownThread) {
		return s.unknownThread()
	}
	if err != nil {
		return err
	}
	if err := s.printVerification(v); err != nil {
		return err
	}
	if err := s.notVerified(v); err != nil {
		return err
	}
	if has != "" && !v.Has(has) {
		return fmt.Errorf("%w: thread %q: no checkpoint has the hash %s; it was pruned, or taken away", graph.ErrNotVerified, s.thread, has)
	}
	return nil
}

// verifyOne verifies one of many threads.
func (s *session) verifyOne(ctx context.Context, trusted []ed25519.PublicKey, dryRun bool) (bulkOutcome, error) {
	if dryRun {
		return did(outcomePlanned, "it would be verified"), nil
	}
	v, err := graph.VerifyThread(ctx, s.store, s.thread, trusted...)
	if err == nil {
		err = s.notVerified(v)
	}
	if err != nil {
		return bulkOutcome{}, err
	}
	if v.Chains[0].Hashed == 0 {
		return did(outcomeSkipped, "its checkpoints carry no hashes"), nil
	}
	return did(outcomeDone, "checkpoint %d, hash %s", v.Chains[0].Head, v.Chains[0].Hash), nil
}

// notVerified returns what is wrong with a thread, nil for nothing. With --hashes each checkpoint
// must carry one.
func (s *session) notVerified(v *graph.Verification) error {
	if err := v.Err(); err != nil || !s.grants.hashes {
		return err
	}
	for _, c := range v.Chains {
		if c.Hashed < c.Commits {
			return fmt.Errorf("%w: thread %q: %d of %d checkpoints of %q carry no hash", graph.ErrNotVerified, s.thread, c.Commits-c.Hashed, c.Commits, c.Namespace)
		}
	}
	return nil
}

func (s *session) printVerification(v *graph.Verification) error {
	if s.JSON {
		return s.PrintJSON(v)
	}
	for _, c := range v.Chains {
		name := "thread " + reports.Cell(s.thread)
		if c.Namespace != "" {
			name = reports.TaskTitle(c.Namespace, "", "")
		}
		fmt.Fprintf(s.Stdout, "%s: %s, %d with a hash", name, counted(c.Commits, "checkpoint"), c.Hashed)
		if c.Missing > 0 {
			fmt.Fprintf(s.Stdout, ", %d not stored", c.Missing)
		}
		for _, at := range c.Lost {
			fmt.Fprintf(s.Stdout, ", the store lost those before %d", at)
		}
		fmt.Fprintln(s.Stdout)
		if c.Since > 1 {
			fmt.Fprintf(s.Stdout, "  the hash covers the checkpoints from %d on\n", c.Since)
		}
		if c.Hash != "" {
			fmt.Fprintf(s.Stdout, "  checkpoint %d has the hash %s\n", c.Head, c.Hash)
		}
	}
	if v.Signed+v.Unsigned+v.Decisions > 0 {
		fmt.Fprintf(s.Stdout, "decisions: %d with a hash, %d signed, %d not signed\n", v.Decisions, v.Signed, v.Unsigned)
		if v.Unanchored > 0 {
			fmt.Fprintf(s.Stdout, "  %d signed without a checkpoint that is still stored\n", v.Unanchored)
		}
	}
	for _, c := range v.Changed {
		fmt.Fprintf(s.Stdout, "changed: %s\n", reports.OneLine(c.String()))
	}
	for _, r := range v.Rejected {
		fmt.Fprintf(s.Stdout, "rejected: decision %d, by %s: %s\n", r.Decision, reports.Cell(r.By), r.Why)
	}
	return nil
}

// withHashes lets the threads of a store carry hashes, if --hashes is given.
func (a *app) withHashes(store checkpoint.Store) checkpoint.Store {
	if !a.grants.hashes || store == nil {
		return store
	}
	return checkpoint.WithHashes(store)
}

// mostKeyFile is how many bytes of a file with keys are read.
const mostKeyFile = 64 << 10

// readPEM returns the blocks of a file with keys.
func readPEM(path string) (blocks []*pem.Block, err error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, reports.CannotRead(path, err)
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, mostKeyFile+1))
	switch {
	case err != nil:
		return nil, reports.CannotRead(path, err)
	case len(data) > mostKeyFile:
		return nil, reports.Usage("name a file with keys in PEM", "the file %s has more than %d bytes", path, mostKeyFile)
	}
	for {
		var block *pem.Block
		if block, data = pem.Decode(data); block == nil && bytes.Contains(data, []byte("-----BEGIN")) {
			return nil, reports.Usage("write it again", "block %d of the file %s is damaged", len(blocks)+1, path)
		} else if block == nil {
			return blocks, nil
		}
		blocks = append(blocks, block)
	}
}

// readPrivateKey reads the key of --sign.
func readPrivateKey(path string) (ed25519.PrivateKey, error) {
	blocks, err := readPEM(path)
	if err != nil {
		return nil, err
	}
	if len(blocks) == 1 {
		if key, err := x509.ParsePKCS8PrivateKey(blocks[0].Bytes); err == nil {
			if key, ok := key.(ed25519.PrivateKey); ok {
				return key, nil
			}
		}
	}
	return nil, reports.Usage("make one with openssl genpkey -algorithm ed25519 -out FILE", "the file %s is not one private key for Ed25519 in PEM", path)
}

// readPublicKeys reads the keys of --trust.
func readPublicKeys(paths []string) (keys []ed25519.PublicKey, err error) {
	const advice = "make one with openssl pkey -in PRIVATE -pubout -out FILE"
	for _, path := range paths {
		blocks, err := readPEM(path)
		if err != nil {
			return nil, err
		}
		if len(blocks) == 0 {
			return nil, reports.Usage(advice, "the file %s has no public key in PEM", path)
		}
		for i, b := range blocks {
			key, err := x509.ParsePKIXPublicKey(b.Bytes)
			public, ok := key.(ed25519.PublicKey)
			if err != nil || !ok {
				return nil, reports.Usage(advice, "block %d of the file %s is not a public key for Ed25519", i+1, path)
			}
			keys = append(keys, public)
		}
	}
	return keys, nil
}
