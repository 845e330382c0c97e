package studio

import (
	"bytes"
	"net/http"
	"strings"
	"sync/atomic"

	h "github.com/weftrun/weft/internal/markup"
	"github.com/weftrun/weft/internal/picture"
)

// Config are the settings of a Handler. Both functions are required.
type Config struct {
	// Base is the path below which the pages are, such as /studio.
	Base string
	// ReadOnly shows no forms that change something, and refuses to take them.
	ReadOnly bool
	// Editor has the workflows; nil has no editor.
	Editor Editor
	// Open returns the source for the caller of a request.
	Open func(r *http.Request) (Source, error)
	// Follow counts a request that stays open, and returns the function to call at its end. It
	// fails if there are too many. nil counts none.
	Follow func() (leave func(), err error)
	// Fault returns the status and the text of an error for the caller, and whether it is to be
	// authenticated.
	Fault func(err error) (status int, text string)
}

// Handler serves the pages.
type Handler struct {
	config  Config
	mux     *http.ServeMux
	layouts picture.Cache
	origins http.CrossOriginProtection
	assets  *assets
	build   string

	exporting atomic.Bool // an export is being made or sent
}

// New returns a handler.
func New(c Config) *Handler {
	s := &Handler{config: c, mux: http.NewServeMux()}
	s.config.Base = strings.TrimSuffix(c.Base, "/")
	files, err := loadAssets(embedded)
	if err != nil {
		panic(err) // the files are embedded
	}
	s.assets, s.build = files, files.build()
	for pattern, show := range map[string]func(*request) (view, error){
		"/inbox":                     listQuestions,
		"/inbox/{thread}/{question}": showQuestion,
		"/graphs":                    listGraphs,
		"/graphs/{id}":               showGraph,
		"/threads":                   listThreads,
		"/threads/{id}":              showThread,
		"/graphs/{id}/run":           showForm,
		"/graphs/{id}/chat":          newChat,
		"/threads/{id}/chat":         showChat,
	} {
		s.mux.HandleFunc("GET "+s.config.Base+pattern, s.page(show))
	}
	s.mux.HandleFunc("GET "+s.config.Base+"/threads/{id}/state.json", s.state)
	s.mux.HandleFunc("GET "+s.config.Base+"/threads/{id}/events", s.events)
	s.mux.HandleFunc("GET "+s.config.Base+"/threads/{id}/blobs/{hash}", s.blob)
	s.mux.HandleFunc("GET "+s.config.Base+"/changes", s.changes)
	s.mux.Handle("GET "+s.config.Base+"/web/{hash}/{name}", s.assets)
	if !c.ReadOnly {
		for pattern, act := range map[string]func(*request) (view, string, error){
			"/threads/{id}/answer": answer,
			"/threads/{id}/fork":   fork,
			"/threads/{id}/edit":   edit,
			"/threads/{id}/rerun":  rerun,
			"/threads/{id}/replay": replay,
			"/threads/{id}/cancel": cancel,
			"/threads/{id}/prune":  prune,
			"/threads/{id}/delete": remove,
			"/threads":             bulk,
			"/graphs/{id}/run":     startRun,
			"/graphs/{id}/chat":    beginChat,
			"/threads/{id}/chat":   sendMessage,
		} {
			s.mux.HandleFunc("POST "+s.config.Base+pattern, s.act(act))
		}
		s.mux.HandleFunc("POST "+s.config.Base+"/threads/export", s.export)
	}
	s.addRecords()
	s.addAPI()
	s.mux.HandleFunc("POST "+s.config.Base+"/graphs/{id}/run/input", s.check(checkForm))
	s.mux.HandleFunc("POST "+s.config.Base+"/threads/{id}/answer/input", s.check(checkAnswer))
	s.mux.HandleFunc("POST "+s.config.Base+"/threads/{id}/edit/input", s.check(checkEdit))
	if c.Editor != nil {
		for _, path := range []string{"/editor", "/editor/{path...}"} {
			s.mux.HandleFunc("GET "+s.config.Base+path, s.page(showEditor))
		}
		s.mux.HandleFunc("POST "+s.config.Base+"/editor", s.act(editText)) // a text is checked also in a studio that only reads
	}
	for _, root := range []string{"", "/{$}"} {
		s.mux.Handle("GET "+s.config.Base+root, http.RedirectHandler(s.config.Base+"/graphs", http.StatusSeeOther))
	}
	return s
}

// policy is the Content-Security-Policy of all answers.
const policy = "default-src 'self'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data: blob:; " +
	"frame-ancestors 'none'; base-uri 'none'; form-action 'self'"

// ServeHTTP implements http.Handler.
func (s *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	header := w.Header()
	header.Set("Content-Security-Policy", policy)
	header.Set("X-Content-Type-Options", "nosniff")
	header.Set("Referrer-Policy", "no-referrer")
	header.Set(buildHeader, s.build)
	header.Set("Cross-Origin-Opener-Policy", "same-origin")
	header.Set("Cross-Origin-Resource-Policy", "same-origin")
	if _, pattern := s.mux.Handler(r); pattern == "" {
		if r.Method != http.MethodGet && r.Method != http.MethodHead {
			header.Set("Allow", "GET, HEAD")
			s.problem(w, r, http.StatusMethodNotAllowed, "this page only reads")
			return
		}
		s.problem(w, r, http.StatusNotFound, "there is no such page")
		return
	}
	s.mux.ServeHTTP(w, r)
}

// request is a request under way.
type request struct {
	*http.Request
	source Source
	base   string
	cache  *picture.Cache
	write  bool // the caller may change something
	edits  Editor
	first  bool // the page may leave out parts
	left   bool // it has left some out
	fault  func(error) (int, string)
	asset  func(name string) string // the address of a file
}

// request returns a request with its source.
func (s *Handler) request(r *http.Request, source Source) *request {
	return &request{Request: r, source: source, base: s.config.Base, cache: &s.layouts, write: !s.config.ReadOnly,
		edits: s.config.Editor, first: r.Header.Get(partsHeader) == "first", fault: s.config.Fault, asset: s.asset}
}

// view is a page inside its frame.
type view struct {
	section string // its entry of the menu, or ""
	title   string
	body    h.Part
}

// page returns the handler of a page.
func (s *Handler) page(show func(*request) (view, error)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		source, err := s.config.Open(r)
		if err == nil {
			var v view
			asked := s.request(r, source)
			if v, err = show(asked); err == nil {
				n := unknown
				if asked.left {
					w.Header().Set(partsHeader, "first")
				} else {
					n = asked.waiting()
				}
				s.write(w, r, http.StatusOK, v, n)
				return
			}
		}
		s.fail(w, r, err)
	}
}

// fail answers with the page of an error.
func (s *Handler) fail(w http.ResponseWriter, r *http.Request, err error) {
	if bad, ok := err.(*requestError); ok {
		s.problem(w, r, bad.status, bad.text)
		return
	}
	status, text := s.config.Fault(err)
	if status == http.StatusUnauthorized {
		w.Header().Set("WWW-Authenticate", `Basic realm="weft studio", charset="UTF-8"`)
	}
	s.problem(w, r, status, text)
}

func (s *Handler) problem(w http.ResponseWriter, r *http.Request, status int, text string) {
	s.write(w, r, status, view{"", http.StatusText(status), h.Parts{
		h.P(h.Text(text)),
		h.P(h.A(h.Href(s.config.Base+"/graphs"), h.Text("All graphs"))),
	}}, unknown)
}

// write answers with a page. n is the number in its menu.
func (s *Handler) write(w http.ResponseWriter, r *http.Request, status int, v view, n waiting) {
	keep := "no-cache"
	if w.Header().Get(partsHeader) != "" {
		keep = "no-store" // or a browser that goes back shows it as the page
	}
	w.Header().Set("Cache-Control", keep)
	var page bytes.Buffer
	_ = h.Document(&page, s.frame(v, n)) // a buffer takes all
	reply(w, r, status, "text/html; charset=utf-8", page.Bytes())
}

// requestError is the error of a request that is not valid.
type requestError struct {
	status int
	text   string
}

func (e *requestError) Error() string { return e.text }
