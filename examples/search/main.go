// Command search finds the parts of this project's documentation that answer a question, by their
// words and by their meaning.
//
//	go run ./examples/search 'what happens if two processes run one thread?'
//
// It needs no key: without -model the vectors are made of the letters of a text. They find forms of
// a word and mistakes in spelling, but no meaning. A model with the protocol of OpenAI finds more:
//
//	go run ./examples/search -url http://localhost:11434/v1 -model nomic-embed-text -dims 768 '…'
package main

import (
	"cmp"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"hash/fnv"
	"io"
	"log"
	"os"
	"path/filepath"
	"strings"

	"github.com/weftrun/weft/capabilities/model"
	"github.com/weftrun/weft/capabilities/model/openai"
	"github.com/weftrun/weft/capabilities/retrieval"
	"github.com/weftrun/weft/checkpoint/memory"
)

func main() {
	if err := run(context.Background(), os.Args[1:], os.Stdout); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, args []string, w io.Writer) error {
	flags := flag.NewFlagSet("search", flag.ContinueOnError)
	docs := flags.String("docs", "docs", "the folder of the pages")
	url := flags.String("url", "", "the address of a server with the protocol of OpenAI")
	name := flags.String("model", "", "the model that makes the vectors; without it, letters do")
	dims := flags.Int("dims", 1536, "the length of the model's vectors")
	if err := flags.Parse(args); err != nil {
		return err
	}
	index := &memory.Index{Store: new(memory.Map), Embed: letters, Dims: lettersDims, Fields: []string{"text"}}
	if *name != "" {
		m, err := openai.New(openai.Config{Model: *name, BaseURL: *url})
		if err != nil {
			return err
		}
		index.Dims = *dims
		index.Embed = model.Vectors(m, model.EmbedRequest{Purpose: model.ForDocument})
		index.Ask = model.Vectors(m, model.EmbedRequest{Purpose: model.ForQuery})
	}
	if err := read(ctx, index, *docs); err != nil {
		return err
	}
	found, err := retrieval.Search(ctx, index, retrieval.Query{Prefix: []string{"docs"}, Text: strings.Join(flags.Args(), " "), Limit: 3})
	if err != nil {
		return err
	}
	for _, h := range found.Hits {
		var c retrieval.Chunk
		if err := json.Unmarshal(h.Value, &c); err != nil {
			return err
		}
		page := h.Namespace[len(h.Namespace)-1]
		fmt.Fprintf(w, "%s:%d %s (words: %s, meaning: %s)\n", page, c.Line, strings.Join(c.Headings, " > "), place(h.ByWords), place(h.ByMeaning))
	}
	return found.Missing
}

func place(n int) string {
	if n == 0 {
		return "none"
	}
	return fmt.Sprint(n)
}

// read splits the pages of a folder and puts their chunks, a namespace for each page.
func read(ctx context.Context, index *memory.Index, folder string) error {
	pages, err := filepath.Glob(filepath.Join(folder, "*.md"))
	if err == nil && len(pages) == 0 {
		err = fmt.Errorf("there are no pages in %s", folder)
	}
	if err != nil {
		return err
	}
	var lost error
	index.Failed = func(_ []string, _ string, err error) { lost = cmp.Or(lost, err) }
	for _, name := range pages {
		text, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		chunks, err := retrieval.Split(string(text), retrieval.Options{MaxTokens: 300})
		if err != nil {
			return err
		}
		var ops []memory.Op
		for _, c := range chunks {
			value, err := json.Marshal(c)
			if err != nil {
				return err
			}
			ops = append(ops, memory.Op{Key: fmt.Sprint(c.Start), Value: value})
		}
		if _, err := index.Batch(ctx, []string{"docs", filepath.Base(name)}, ops); err != nil {
			return err
		}
	}
	return lost
}

const lettersDims = 512

// letters makes a vector of each text of its runs of three letters.
func letters(_ context.Context, texts []string) (list [][]float32, err error) {
	for _, text := range texts {
		v := make([]float32, lettersDims)
		for _, word := range memory.Words(text) {
			runes := []rune(" " + word + " ")
			for i := range len(runes) - 2 {
				h := fnv.New32a()
				_, _ = h.Write([]byte(string(runes[i : i+3])))
				v[h.Sum32()%lettersDims]++
			}
		}
		list = append(list, v)
	}
	return list, nil
}
