// Package openai is a [model.Model] over the chat completions of OpenAI and of the many servers that
// speak its protocol: Ollama, vLLM, Groq, llama.cpp, LiteLLM, OpenRouter.
//
//	m, err := openai.New(openai.Config{Model: "gpt-4.1-mini"})                                    // the key is in OPENAI_API_KEY
//	m, err := openai.New(openai.Config{Model: "qwen3", BaseURL: "http://localhost:11434/v1"})     // Ollama
//	m, err := openai.New(openai.Config{Model: "llama-3.3-70b", BaseURL: groq, Key: os.Getenv("GROQ_API_KEY")})
//
// Answers are streamed; one that a server gives whole all the same is taken too. Nothing is retried
// here: every failure is a [*model.Error] whose kind says whether another attempt may help, with the wait that the
// server asks for. No failure holds the key, nor a header that was configured.
//
// # What it holds a server to
//
// The answer begins within Config.Idle and goes on within it, and ends within Config.Timeout. An event is
// no larger than 16 MiB, and the answer no larger than [model.MaxAnswer]. A stream that breaks off is an
// error, and so is what is no stream: an error page with the status 200, another media type, JSON that is cut.
//
// # What servers do otherwise, and is put right
//
// Ids of calls that are missing, repeated, or all at index 0; ids that are longer than OpenAI takes (a hash is
// sent); no finish reason before the end of the stream; an answer that goes on after it; an "error": null.
package openai
