package openai_test

import (
	"fmt"

	"github.com/weftrun/weft/capabilities/model/openai"
)

// A model of a server on this machine. New asks nothing of the server.
func Example() {
	m, err := openai.New(openai.Config{Model: "qwen3", BaseURL: "http://localhost:11434/v1"})
	fmt.Println(m != nil, err)

	_, err = openai.New(openai.Config{Model: "qwen3", BaseURL: "localhost:11434"})
	fmt.Println(err)
	// Output:
	// true <nil>
	// openai: invalid configuration: BaseURL must be an http or https address
}
