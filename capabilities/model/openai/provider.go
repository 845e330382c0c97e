package openai

import "github.com/weftrun/weft/capabilities/model"

// Provider opens models of OpenAI, and of servers that are compatible with it.
func Provider() model.Provider {
	return model.Provider{
		URL: ownURL, URLVariable: "OPENAI_BASE_URL", KeyVariable: "OPENAI_API_KEY",
		Open:         func(c model.Config) (model.Model, error) { return open(c) },
		OpenEmbedder: func(c model.Config) (model.Embedder, error) { return open(c) },
	}
}

func open(c model.Config) (*Model, error) {
	form := Form(c.Answers)
	if form == "schema" {
		form = FormSchema
	}
	return New(Config{Model: c.Model, BaseURL: c.URL, Key: c.Key, Timeout: c.Timeout, Form: form})
}
