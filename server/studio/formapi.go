package studio

import (
	"encoding/json"
	"net/http"
)

// checkedForm is what a page gets of a form while it is filled in.
type checkedForm struct {
	Raw      string            `json:"raw"`      // the input as JSON
	Fields   map[string]string `json:"fields"`   // the text of each input, by its name
	Mistakes map[string]string `json:"mistakes"` // by the name of the input
	Mistake  string            `json:"mistake,omitempty"`
}

// checkForm answers with the other form of an input, and with its mistakes. Nothing is started.
func (s *Handler) checkForm(w http.ResponseWriter, req *http.Request) {
	_, _, err := s.take(w, req, func(r *request) (view, string, error) {
		f, err := r.runForm("")
		if err != nil {
			return view{}, "", err
		}
		out := checkedForm{Fields: map[string]string{}, Mistakes: map[string]string{}}
		f.read(r.PostForm)
		out.Raw, out.Mistake = f.raw, f.mistake
		f.form.collect(&out)
		if f.options.settings != nil && !r.PostForm.Has("raw") {
			f.options.settings.read(r.PostForm)
			f.options.settings.collect(&out)
		}
		data, err := json.Marshal(out)
		if err != nil {
			return view{}, "", err
		}
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Cache-Control", "no-store")
		_, _ = w.Write(data) // the client is gone
		return view{}, "", nil
	})
	if err != nil {
		s.fail(w, req, err)
	}
}

func (e *entry) collect(out *checkedForm) {
	for _, p := range e.Parts {
		p.collect(out)
	}
	if e.Kind == "object" {
		return
	}
	out.Fields[e.inputName()] = e.Text
	if e.Mistake != "" {
		out.Mistakes[e.inputName()] = e.Mistake
	}
}
