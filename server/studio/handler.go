package studio

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"html/template"
	"net/http"
	"strings"

	"github.com/weftrun/weft/internal/picture"
)

//go:embed pages/*.html web/*.css
var files embed.FS

// Config are the settings of a Handler. Both functions are required.
type Config struct {
	// Base is the path below which the pages are, such as /studio.
	Base string
	// ReadOnly shows no forms that change something, and refuses to take them.
	ReadOnly bool
	// Open returns the source for the caller of a request.
	Open func(r *http.Request) (Source, error)
	// Fault returns the status and the text of an error for the caller, and whether it is to be
	// authenticated.
	Fault func(err error) (status int, text string)
}

// Handler serves the pages.
type Handler struct {
	config  Config
	mux     *http.ServeMux
	pages   *template.Template
	layouts picture.Cache
	origins http.CrossOriginProtection
	style   []byte
	hash    string // of the style sheet, in its path
}

// New returns a handler.
func New(c Config) *Handler {
	h := &Handler{config: c, mux: http.NewServeMux()}
	h.config.Base = strings.TrimSuffix(c.Base, "/")
	own, err := files.ReadFile("web/studio.css")
	if err != nil {
		panic(err) // the file is embedded
	}
	h.style = append([]byte(picture.CSS()), own...)
	sum := sha256.Sum256(h.style)
	h.hash = hex.EncodeToString(sum[:6])
	h.pages = template.Must(template.New("").Funcs(h.functions()).ParseFS(files, "pages/*.html"))
	for pattern, show := range map[string]func(*request) (view, error){
		"/inbox":        listQuestions,
		"/graphs":       listGraphs,
		"/graphs/{id}":  showGraph,
		"/threads":      listThreads,
		"/threads/{id}": showThread,
	} {
		h.mux.HandleFunc("GET "+h.config.Base+pattern, h.page(show))
	}
	h.mux.HandleFunc("GET "+h.config.Base+"/threads/{id}/state.json", h.state)
	h.mux.HandleFunc("GET "+h.config.Base+"/web/"+h.hash+"/studio.css", h.styleSheet)
	if !c.ReadOnly {
		h.mux.HandleFunc("POST "+h.config.Base+"/threads/{id}/answer", h.answer)
	}
	for _, root := range []string{"", "/{$}"} {
		h.mux.Handle("GET "+h.config.Base+root, http.RedirectHandler(h.config.Base+"/graphs", http.StatusSeeOther))
	}
	return h
}

// policy is the Content-Security-Policy of all answers.
const policy = "default-src 'self'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data: blob:; " +
	"frame-ancestors 'none'; base-uri 'none'; form-action 'self'"

// ServeHTTP implements http.Handler.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	header := w.Header()
	header.Set("Content-Security-Policy", policy)
	header.Set("X-Content-Type-Options", "nosniff")
	header.Set("Referrer-Policy", "no-referrer")
	header.Set("Cross-Origin-Opener-Policy", "same-origin")
	header.Set("Cross-Origin-Resource-Policy", "same-origin")
	if _, pattern := h.mux.Handler(r); pattern == "" {
		if r.Method != http.MethodGet && r.Method != http.MethodHead {
			header.Set("Allow", "GET, HEAD")
			h.problem(w, http.StatusMethodNotAllowed, "this page only reads")
			return
		}
		h.problem(w, http.StatusNotFound, "there is no such page")
		return
	}
	h.mux.ServeHTTP(w, r)
}

// request is a request under way.
type request struct {
	*http.Request
	source Source
	base   string
	cache  *picture.Cache
	write  bool // the caller may change something
}

// view is what a template shows.
type view struct {
	name  string // of the template
	title string
	data  any
}

// page returns the handler of a page.
func (h *Handler) page(show func(*request) (view, error)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		source, err := h.config.Open(r)
		if err == nil {
			var v view
			if v, err = show(&request{r, source, h.config.Base, &h.layouts, !h.config.ReadOnly}); err == nil {
				h.write(w, http.StatusOK, v)
				return
			}
		}
		h.fail(w, err)
	}
}

// fail answers with the page of an error.
func (h *Handler) fail(w http.ResponseWriter, err error) {
	if bad, ok := err.(*requestError); ok {
		h.problem(w, bad.status, bad.text)
		return
	}
	status, text := h.config.Fault(err)
	if status == http.StatusUnauthorized {
		w.Header().Set("WWW-Authenticate", `Basic realm="weft studio", charset="UTF-8"`)
	}
	h.problem(w, status, text)
}

func (h *Handler) problem(w http.ResponseWriter, status int, text string) {
	h.write(w, status, view{"problem.html", http.StatusText(status), text})
}

// write answers with a page. It is rendered before the answer begins, so that a template that fails
// does not leave half a page.
func (h *Handler) write(w http.ResponseWriter, status int, v view) {
	var b bytes.Buffer
	err := h.pages.ExecuteTemplate(&b, v.name, struct {
		Title string
		Data  any
	}{v.title, v.data})
	if err != nil {
		panic(err) // the server logs it
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Header().Set("Cache-Control", "no-cache")
	w.WriteHeader(status)
	_, _ = w.Write(b.Bytes()) // the client is gone
}

// styleSheet answers with the style sheet, whose path changes with its content.
func (h *Handler) styleSheet(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/css; charset=utf-8")
	w.Header().Set("Cache-Control", "public, max-age=31536000, immutable")
	_, _ = w.Write(h.style) // the client is gone
}

// requestError is the error of a request that is not valid.
type requestError struct {
	status int
	text   string
}

func (e *requestError) Error() string { return e.text }
