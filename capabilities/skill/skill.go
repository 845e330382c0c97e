package skill

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"gopkg.in/yaml.v3"

	"github.com/weftrun/weft/internal/rootfs"
)

// FileName is the name of the file that makes a folder a skill.
const FileName = "SKILL.md"

// The limits of skills.
const (
	MaxSkills      = 100
	MaxFile        = 256 << 10 // bytes of a file that is read
	MaxFiles       = 200       // files of a skill that are listed
	MaxDescription = 1024      // characters
)

// ErrSkill is returned for a folder that is not a valid skill, and for a file that a skill does not
// have. The error names the skill.
var ErrSkill = errors.New("skill")

// Skill is a folder with instructions.
type Skill struct {
	Name        string // that of the folder: lower-case letters, digits and single -
	Description string
}

// Set are the skills of a folder. It is safe for concurrent use.
type Set struct {
	folder string
	all    []Skill
}

var names = regexp.MustCompile(`^[a-z0-9]+(-[a-z0-9]+)*$`)

// Open reads the names and descriptions of the skills in a folder, which has a folder for each.
// Other entries are ignored. The error has all skills that are not valid.
func Open(folder string) (*Set, error) {
	root, err := os.OpenRoot(folder)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	entries, err := fs.ReadDir(root.FS(), ".")
	if err != nil {
		return nil, err
	}
	s := &Set{folder: folder}
	var errs []error
	for _, e := range entries {
		if !e.IsDir() {
			continue
		}
		text, err := rootfs.ReadFile(filepath.Join(folder, e.Name()), FileName, MaxFile)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		one, _, perr := parse(e.Name(), text)
		if err = errors.Join(err, perr); err != nil {
			errs = append(errs, fmt.Errorf("%w %s: %s: %w", ErrSkill, e.Name(), FileName, err))
			continue
		}
		s.all = append(s.all, one)
	}
	if len(s.all) > MaxSkills {
		errs = append(errs, fmt.Errorf("%w: %s has %d skills, at most %d are allowed", ErrSkill, folder, len(s.all), MaxSkills))
	}
	if len(s.all)+len(errs) == 0 {
		errs = append(errs, fmt.Errorf("%w: no folder in %s has a file %s", ErrSkill, folder, FileName))
	}
	return s, errors.Join(errs...)
}

// parse reads a SKILL.md.
func parse(folder string, text []byte) (s Skill, body string, err error) {
	switch {
	case len(text) > MaxFile:
		return s, "", fmt.Errorf("it is larger than %d bytes", MaxFile)
	case !utf8.Valid(text):
		return s, "", errors.New("it is not UTF-8 text")
	}
	text = bytes.ReplaceAll(text, []byte("\r\n"), []byte("\n"))
	rest, ok := strings.CutPrefix(string(text), "---\n")
	front, body, closed := strings.Cut("\n"+rest, "\n---\n")
	if !closed {
		front, closed = strings.CutSuffix("\n"+rest, "\n---")
	}
	if !ok || !closed {
		return s, "", errors.New("it must begin with a line ---, name and description, and a line ---")
	}
	var head struct {
		Name        string `yaml:"name"`
		Description string `yaml:"description"`
	}
	if err := yaml.Unmarshal([]byte(front), &head); err != nil {
		return s, "", err
	}
	head.Description = strings.Join(strings.Fields(head.Description), " ")
	switch n := utf8.RuneCountInString(head.Description); {
	case head.Name != folder:
		err = fmt.Errorf("name must be that of the folder (got %q)", head.Name)
	case len(folder) > 64 || !names.MatchString(folder):
		err = errors.New("name must be at most 64 lower-case letters and digits, with - between them")
	case n == 0 || n > MaxDescription:
		err = fmt.Errorf("description must have 1 to %d characters (got %d)", MaxDescription, n)
	}
	return Skill{head.Name, head.Description}, strings.TrimSpace(body), err
}

// Skills returns the skills, sorted by their names. The caller owns the slice.
func (s *Set) Skills() []Skill { return slices.Clone(s.all) }

// dir returns the folder of a skill.
func (s *Set) dir(name string) (string, error) {
	if !slices.ContainsFunc(s.all, func(one Skill) bool { return one.Name == name }) {
		var known []string
		for _, one := range s.all {
			known = append(known, one.Name)
		}
		return "", fmt.Errorf("%w: there is no skill %q; known are %s", ErrSkill, name, strings.Join(known, ", "))
	}
	return filepath.Join(s.folder, name), nil
}

// Load returns the instructions of a skill, and the names of its other files, sorted. Links are not
// followed for the list.
func (s *Set) Load(name string) (instructions string, files []string, err error) {
	text, err := s.Read(name, FileName)
	if err != nil {
		return "", nil, err
	}
	if _, instructions, err = parse(name, []byte(text)); err != nil {
		return "", nil, fmt.Errorf("%w %s: %s: %w", ErrSkill, name, FileName, err)
	}
	dir, err := s.dir(name)
	if err != nil {
		return "", nil, err
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return "", nil, err
	}
	defer root.Close()
	err = fs.WalkDir(root.FS(), ".", func(file string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case file != "." && strings.HasPrefix(d.Name(), ".") && d.IsDir():
			return fs.SkipDir
		case d.IsDir() || file == FileName:
			return nil
		case len(files) == MaxFiles:
			return fs.SkipAll
		}
		files = append(files, file)
		return nil
	})
	return instructions, files, err
}

// Read returns a file of a skill. It must be UTF-8 text of at most MaxFile bytes.
func (s *Set) Read(name, file string) (string, error) {
	dir, err := s.dir(name)
	if err != nil {
		return "", err
	}
	data, err := rootfs.ReadFile(dir, filepath.FromSlash(path.Clean(file)), MaxFile)
	switch {
	case err != nil:
	case len(data) > MaxFile:
		err = fmt.Errorf("it is larger than %d bytes", MaxFile)
	case !utf8.Valid(data):
		err = errors.New("it is not UTF-8 text")
	}
	if err != nil {
		return "", fmt.Errorf("%w %s: %s: %w", ErrSkill, name, file, reason(err))
	}
	return string(data), nil
}

// reason returns an error of a file without the path on this machine.
func reason(err error) error {
	var at *fs.PathError
	if errors.As(err, &at) {
		return at.Err
	}
	return err
}
