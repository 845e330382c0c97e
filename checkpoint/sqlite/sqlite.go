package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	_ "modernc.org/sqlite" // registers the driver "sqlite"

	"github.com/weftrun/weft/checkpoint"
)

// Config has the settings of an open file. Open uses the zero value.
type Config struct {
	// BusyTimeout is how long a call waits while another process holds the file's lock, before it
	// fails with ErrBusy; 0 means 5 seconds. Stores hold the lock for milliseconds; other programs,
	// such as the sqlite3 tool, may hold it longer.
	BusyTimeout time.Duration
	// Readers is how many connections read at once; 0 means the number of
	// processors, at least 2. Each costs a file handle and up to 2 MB of cache.
	Readers int
	// Sync is how much of the file is on the disk when a call returns. The default, SyncFull, loses
	// no commit. SyncNormal is several times as fast, and may lose the last commits at a loss of
	// power or when the machine stops; each is lost whole, and the threads go on from the ones
	// before. The end of the process alone loses nothing with either.
	Sync Sync
	// Now is the clock of leases and expiry; nil means time.Now. The clocks of all processes that
	// use a file must agree.
	Now func() time.Time
}

// Sync is when commits are written to the disk, see Config.Sync.
type Sync int

const (
	// SyncFull waits for the disk before a call that writes returns.
	SyncFull Sync = iota
	// SyncNormal lets the system write the commits later. They may be lost at a loss of power.
	SyncNormal
)

var syncs = [...]string{"full", "normal"}

func (s Sync) String() string {
	if s >= 0 && int(s) < len(syncs) {
		return syncs[s]
	}
	return fmt.Sprintf("Sync(%d)", int(s))
}

// ParsePath returns the path and the settings of a path with options, as the command line takes it:
// threads.db?sync=normal. The only option is sync, with full or normal.
func ParsePath(text string) (path string, cfg Config, err error) {
	path, value, found := cutLast(text, "?sync=")
	if !found {
		return text, cfg, nil
	}
	n := slices.Index(syncs[:], value)
	if n < 0 {
		return "", cfg, fmt.Errorf("%w: sync must be full or normal (got %q)", checkpoint.ErrRequest, value)
	}
	return path, Config{Sync: Sync(n)}, nil
}

func cutLast(s, sep string) (before, after string, found bool) {
	if i := strings.LastIndex(s, sep); i >= 0 {
		return s[:i], s[i+len(sep):], true
	}
	return s, "", false
}

// Store is an open file. It is safe for concurrent use.
type Store struct {
	path    string
	sync    Sync
	now     func() time.Time
	queue   queue
	writer  *sql.DB
	readers *sql.DB
	reads   reading
	texts   statements // of the readers, beside reads
	watch   watch
	written sync.WaitGroup // the writer goroutine

	mu     sync.RWMutex // held for reading while a read runs
	closed bool
}

var (
	_ checkpoint.Store    = (*Store)(nil)
	_ checkpoint.Leaser   = (*Store)(nil)
	_ checkpoint.Dropper  = (*Store)(nil)
	_ checkpoint.Expirer  = (*Store)(nil)
	_ checkpoint.Examiner = (*Store)(nil)
)

// Open opens the file at path with the zero Config. It creates a missing file, and missing
// directories, with rights for the owner only.
func Open(ctx context.Context, path string) (*Store, error) {
	return OpenConfig(ctx, path, Config{})
}

// OpenConfig is Open with settings.
func OpenConfig(ctx context.Context, path string, cfg Config) (*Store, error) {
	cfg.BusyTimeout = orDefault(cfg.BusyTimeout, 5*time.Second)
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	cfg.Readers = orDefault(cfg.Readers, max(2, runtime.GOMAXPROCS(0)))
	if cfg.Sync != SyncFull && cfg.Sync != SyncNormal {
		return nil, fmt.Errorf("%w: Config.Sync must be SyncFull or SyncNormal (got %v)", checkpoint.ErrRequest, cfg.Sync)
	}
	s := &Store{path: path, sync: cfg.Sync, now: cfg.Now}
	s.queue.init()
	if err := s.open(ctx, cfg); err != nil {
		s.closeAll()
		return nil, s.typed(err)
	}
	return s, nil
}

func orDefault[T ~int | ~int64](v, def T) T {
	if v <= 0 {
		return def
	}
	return v
}

// open opens the connections. closeAll closes them, also after an error.
func (s *Store) open(ctx context.Context, cfg Config) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	abs, err := createFile(s.path)
	if err != nil {
		return err
	}
	if s.writer, err = sql.Open("sqlite", dsn(abs, cfg, "_txlock=immediate")); err != nil {
		return err
	}
	s.writer.SetMaxOpenConns(1)
	if s.readers, err = sql.Open("sqlite", dsn(abs, cfg, "_query_only=1")); err != nil {
		return err
	}
	s.readers.SetMaxOpenConns(cfg.Readers)
	s.readers.SetMaxIdleConns(cfg.Readers)
	s.texts.on = s.readers
	if s.watch.db, err = sql.Open("sqlite", dsn(abs, cfg, "_query_only=1")); err != nil {
		return err
	}

	var conn *sql.Conn
	err = untilFree(ctx, cfg.BusyTimeout, func() (err error) {
		conn, err = connect(ctx, s.writer)
		return err
	})
	if err != nil {
		return err
	}
	file, err := os.Stat(abs)
	if err != nil {
		return errors.Join(fmt.Errorf("%w: %w", checkpoint.ErrUnavailable, err), conn.Close())
	}
	return s.start(ctx, &writer{conn: conn, path: abs, file: file, waitFor: cfg.BusyTimeout, clock: cfg.Now, texts: statements{on: conn}})
}

// connect opens a connection and prepares the file.
func connect(ctx context.Context, db *sql.DB) (*sql.Conn, error) {
	conn, err := db.Conn(ctx)
	if err != nil {
		return nil, err
	}
	if err := prepareFile(ctx, conn); err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	return conn, nil
}

// start prepares the statements and starts the writer.
func (s *Store) start(ctx context.Context, w *writer) error {
	err := errors.Join(w.prepare(ctx), s.reads.prepare(ctx, s.readers))
	if err == nil {
		_, err = w.conn.ExecContext(ctx, "PRAGMA busy_timeout = 0") // (*writer).lock waits instead
	}
	if err != nil {
		w.close()
		return err
	}
	s.written.Go(func() { s.write(w) })
	return nil
}

// creating is locked while a file is created. Closing a descriptor of a file releases all locks
// that this process has on the file, also those of another Open.
var creating sync.Mutex

// createFile creates a missing file and its directories, readable by the owner only, and returns
// the absolute path.
func createFile(path string) (string, error) {
	switch {
	case path == "" || path == ":memory:" || strings.HasPrefix(path, "file:"):
		return "", fmt.Errorf("%w: %q is not the path of a file; for a store in memory use checkpoint.Memory", checkpoint.ErrUnavailable, path)
	case strings.ContainsRune(path, 0):
		return "", fmt.Errorf("%w: a path has no NUL", checkpoint.ErrUnavailable)
	}
	abs, err := filepath.Abs(path)
	if err != nil {
		return "", fmt.Errorf("%w: %w", checkpoint.ErrUnavailable, err)
	}
	if err := os.MkdirAll(filepath.Dir(abs), 0o700); err != nil {
		return "", fmt.Errorf("%w: %w", checkpoint.ErrUnavailable, err)
	}
	creating.Lock()
	defer creating.Unlock()
	f, err := os.OpenFile(abs, os.O_CREATE|os.O_EXCL|os.O_RDWR, 0o600)
	switch {
	case errors.Is(err, fs.ErrExist):
		return abs, nil
	case err != nil:
		return "", fmt.Errorf("%w: %w", checkpoint.ErrUnavailable, err)
	}
	return abs, f.Close()
}

// dsn returns the name of the file for the driver. Every connection waits for locks, that of the
// writer until start, and reports invalid cells of a page as damage.
func dsn(abs string, cfg Config, extra string) string {
	u := url.URL{Scheme: "file", Path: "/" + strings.TrimPrefix(filepath.ToSlash(abs), "/")}
	return u.String() + "?_busy_timeout=" + strconv.FormatInt(cfg.BusyTimeout.Milliseconds(), 10) +
		"&_synchronous=" + cfg.Sync.String() + "&_defensive=1&_error_rc=1&_pragma=cell_size_check(1)&" + extra
}

// Close waits for the calls in the queue and closes the file. Later calls return ErrClosed. A
// second Close does nothing.
func (s *Store) Close() error {
	s.queue.close()
	s.written.Wait()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil
	}
	return s.typed(s.closeAll())
}

// closeAll closes the readers first. The writer's connection is the last, so closing it copies the
// log into the file.
func (s *Store) closeAll() error {
	s.closed = true
	var errs []error
	if s.watch.db != nil {
		errs = append(errs, s.watch.close())
	}
	for _, db := range []*sql.DB{s.readers, s.writer} {
		if db != nil {
			errs = append(errs, db.Close())
		}
	}
	return errors.Join(errs...)
}
