// Package openai is a [model.Model] for the chat completions API of OpenAI and of servers that are
// compatible with it: Ollama, vLLM, Groq, llama.cpp, LiteLLM, OpenRouter.
//
//	// OpenAI; the key is in OPENAI_API_KEY.
//	m, err := openai.New(openai.Config{Model: "gpt-4.1-mini"})
//
//	// Ollama.
//	m, err := openai.New(openai.Config{Model: "qwen3", BaseURL: "http://localhost:11434/v1"})
//
//	// Groq.
//	key := os.Getenv("GROQ_API_KEY")
//	m, err := openai.New(openai.Config{Model: "llama-3.3-70b", BaseURL: groq, Key: key})
//
// Answers are streamed; a complete answer is accepted too. The package retries nothing. Every
// failure is a [*model.Error] whose kind determines whether another attempt may succeed, with the
// wait that the server asks for. No failure contains the key or a configured header.
//
// # Limits
//
// The answer must begin within Config.Idle, must not pause longer than that, and must end within
// Config.Timeout. An event has at most 16 MiB, and an answer at most [model.MaxAnswer]. A stream
// that breaks off is an error. So is a response that is not a stream: an error page with status
// 200, another media type, truncated JSON.
//
// # Tolerated differences of servers
//
// IDs of calls that are missing, repeated, or all at index 0; IDs longer than OpenAI accepts (a
// hash is sent); no finish reason before the end of the stream; an answer that continues after its
// finish reason;
// an "error": null.
package openai
