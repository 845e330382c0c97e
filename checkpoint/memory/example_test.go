package memory_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log"

	"github.com/weftrun/weft/checkpoint/memory"
)

func Example() {
	ctx := context.Background()
	var store memory.Map

	me := []string{"users", "ada", "preferences"}
	tea, err := store.Put(ctx, me, "tea", json.RawMessage(`{"wish": "green tea, please", "cups": 3}`), memory.Options{})
	if err != nil {
		log.Fatal(err)
	}
	_, err = store.Put(ctx, me, "music", json.RawMessage(`{"wish": "please no music"}`), memory.Options{})
	if err != nil {
		log.Fatal(err)
	}

	page, err := store.Search(ctx, memory.Query{Prefix: []string{"users", "ada"}, Text: "green tea"})
	if err != nil {
		log.Fatal(err)
	}
	for _, f := range page.Items {
		fmt.Println(f.Key, string(f.Value), f.Score)
	}
	page, err = store.Search(ctx, memory.Query{Where: memory.Filter{{Path: "cups", Op: memory.Gte, Value: 2}}})
	fmt.Println(len(page.Items), "with two cups or more, error", err)

	again := memory.Options{If: &tea.Version}
	_, err = store.Put(ctx, me, "tea", json.RawMessage(`{"wish": "black tea"}`), again)
	fmt.Println("put:", err)
	_, err = store.Put(ctx, me, "tea", json.RawMessage(`{"wish": "white tea"}`), again)
	fmt.Println("a late writer is refused:", errors.Is(err, memory.ErrConflict))
	// Output:
	// tea {"wish":"green tea, please","cups":3} 2
	// 1 with two cups or more, error <nil>
	// put: <nil>
	// a late writer is refused: true
}

// ExampleIndex finds by meaning, with an embedder that knows two meanings.
func ExampleIndex() {
	ctx := context.Background()
	embed := func(_ context.Context, texts []string) (list [][]float32, err error) {
		drinks := map[string]bool{"tea": true, "coffee": true, "thirsty": true}
		for _, text := range texts {
			v := []float32{0.1, 0.1}
			for _, word := range []string{"tea", "coffee", "thirsty", "music", "song", "listen"} {
				if len(text) >= len(word) && text[:len(word)] == word {
					v[map[bool]int{true: 0, false: 1}[drinks[word]]]++
				}
			}
			list = append(list, v)
		}
		return list, nil
	}
	store := &memory.Index{Store: &memory.Map{}, Embed: embed, Dims: 2}

	me := []string{"users", "ada"}
	for key, text := range map[string]string{"drink": `"tea without milk"`, "sound": `"music without words"`} {
		if _, err := store.Put(ctx, me, key, json.RawMessage(text), memory.Options{}); err != nil {
			log.Fatal(err)
		}
	}
	page, err := store.Search(ctx, memory.Query{Near: "thirsty", Prefix: me, Limit: 1})
	fmt.Println(page.Items[0].Key, err)
	// Output:
	// drink <nil>
}
