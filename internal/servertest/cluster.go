//go:build unix

package servertest

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"sync"
	"syscall"
)

// PostgresProgram returns the path of a program of the newest PostgreSQL, as Debian installs it, or
// of the one on the path.
func PostgresProgram(name string) (string, error) {
	found, err := filepath.Glob("/usr/lib/postgresql/*/bin/" + name)
	if err != nil {
		return "", err
	}
	best, newest := "", -1
	for _, path := range found {
		if v, err := strconv.Atoi(filepath.Base(filepath.Dir(filepath.Dir(path)))); err == nil && v > newest {
			best, newest = path, v
		}
	}
	if best != "" {
		return best, nil
	}
	return exec.LookPath(name)
}

// Unprivileged returns a user for a server if this process is root, because PostgreSQL refuses to
// run as root. Otherwise it returns nil.
func Unprivileged() (*syscall.Credential, error) {
	if os.Geteuid() != 0 {
		return nil, nil
	}
	u, err := user.Lookup("postgres")
	if err != nil {
		u, err = user.LookupId("65534") // the conventional user without rights
	}
	if err != nil {
		return nil, err
	}
	uid, err1 := strconv.ParseUint(u.Uid, 10, 32)
	gid, err2 := strconv.ParseUint(u.Gid, 10, 32)
	return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}, errors.Join(err1, err2)
}

// clusters holds an initial cluster for each initdb, by its path.
var clusters sync.Map

// initialCluster holds the files of a cluster that initdb has made.
type initialCluster struct {
	once  sync.Once
	files []clusterFile
	err   error
}

// clusterFile is a file or folder of a cluster, with its path in the data directory.
type clusterFile struct {
	path    string
	folder  bool
	content []byte
}

// WALSize is the setting of a server that gives the log of its cluster the usual size.
const WALSize = "max_wal_size=1GB"

// InitCluster makes the data directory of a new PostgreSQL cluster in dir, which must exist, and
// returns its path. The superuser is weft, and needs no password. The files belong to user, or to
// this process if user is nil.
//
// A process runs each initdb once, since that takes a second of a processor. It holds the files, 28
// MB, in memory and writes them for each cluster, so all have the same system identifier. Segments
// of the log of 1 MB make the files smaller; start the server with WALSize.
func InitCluster(initdb, dir string, user *syscall.Credential) (data string, err error) {
	v, _ := clusters.LoadOrStore(initdb, new(initialCluster))
	c := v.(*initialCluster)
	c.once.Do(func() { c.files, c.err = initialFiles(initdb, user) })
	if c.err != nil {
		return "", c.err
	}
	data = filepath.Join(dir, "data")
	for _, f := range c.files {
		path := filepath.Join(data, f.path)
		if f.folder {
			err = os.Mkdir(path, 0o700)
		} else {
			err = os.WriteFile(path, f.content, 0o600)
		}
		if err == nil && user != nil {
			err = os.Chown(path, int(user.Uid), int(user.Gid))
		}
		if err != nil {
			return "", err
		}
	}
	return data, nil
}

// initialFiles runs initdb and returns the files that it makes, folders before what is in them.
func initialFiles(initdb string, user *syscall.Credential) (files []clusterFile, err error) {
	dir, err := os.MkdirTemp("", "weft-pg")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	if user != nil {
		if err := os.Chown(dir, int(user.Uid), int(user.Gid)); err != nil {
			return nil, err
		}
	}
	data := filepath.Join(dir, "data")
	cmd := exec.Command(initdb, "-D", data, "-U", "weft", "-A", "trust", "-E", "UTF8", "--locale=C", "-N", "--no-instructions", "--wal-segsize=1")
	cmd.Dir, cmd.SysProcAttr = dir, &syscall.SysProcAttr{Credential: user, Setpgid: true}
	if out, err := cmd.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("initdb: %w: %s", err, out)
	}
	err = filepath.WalkDir(data, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		f := clusterFile{folder: d.IsDir()}
		if f.path, err = filepath.Rel(data, path); err == nil && !f.folder {
			f.content, err = os.ReadFile(path)
		}
		files = append(files, f)
		return err
	})
	return files, err
}
