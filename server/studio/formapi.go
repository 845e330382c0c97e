package studio

import (
	"encoding/json"
	"net/http"
)

// checkedForm is what a page gets of a form while it is filled in.
type checkedForm struct {
	Raw      string            `json:"raw"`               // the value as JSON
	Fields   map[string]string `json:"fields"`            // the text of each input, by its name
	Mistakes map[string]string `json:"mistakes"`          // by the name of the input
	Mistake  string            `json:"mistake,omitempty"` // of the JSON, or of the whole
	// Command starts the run that the form describes; "" for one with mistakes, and for an answer.
	Command string `json:"command,omitempty"`
}

// checkForm answers with the other form of an input, and with its mistakes. Nothing is started.
func checkForm(r *request) (checkedForm, error) {
	f, err := r.runForm(r.PostForm.Get("thread"))
	if err != nil {
		return checkedForm{}, err
	}
	_, whole := f.read(r.PostForm)
	out := f.checked()
	if _, err := f.options.read(r); whole && err == nil {
		out.Command = f.command(r)
	}
	if f.options.settings != nil {
		f.options.settings.read(r.PostForm)
		f.options.settings.collect(&out)
	}
	return out, nil
}

// checkAnswer answers with the other form of an answer to a question, and with its mistakes. That
// the question is not open any more is one.
func checkAnswer(r *request) (checkedForm, error) {
	t, err := r.source.Thread(r.Context(), r.PathValue("id"))
	if err != nil {
		return checkedForm{}, err
	}
	in, err := r.asked(t, r.PostForm.Get("question"))
	if closed, ok := isClosed(err); ok {
		return checkedForm{Raw: r.PostForm.Get("raw"), Fields: map[string]string{}, Mistakes: map[string]string{}, Mistake: closed}, nil
	}
	if err != nil {
		return checkedForm{}, err
	}
	f := answerForm(t.ID, in, r.PostForm)
	value, ok := f.read(r.PostForm)
	if ok {
		f.mistake = refusal(in, editTo(in, value))
	}
	return f.checked(), nil
}

// check returns the handler that checks a form while it is filled in.
func (s *Handler) check(check func(*request) (checkedForm, error)) http.HandlerFunc {
	return func(w http.ResponseWriter, req *http.Request) {
		_, _, err := s.take(w, req, func(r *request) (view, string, error) {
			out, err := check(r)
			if err != nil {
				return view{}, "", err
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
}

// checked returns the form as a page gets it.
func (f *valueForm) checked() checkedForm {
	out := checkedForm{Raw: f.raw, Fields: map[string]string{}, Mistakes: map[string]string{}}
	if f.form.collect(&out); len(out.Mistakes) == 0 {
		out.Mistake = f.mistake
	}
	return out
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
