// Package retrieval finds the parts of documents that answer a question.
//
//	chunks, err := retrieval.Split(text, retrieval.Options{MaxTokens: 300})
//	for _, c := range chunks {
//		value, err := json.Marshal(c)
//		if err != nil {
//			return err
//		}
//		key := fmt.Sprint(c.Start)
//		if _, err := index.Put(ctx, []string{"docs"}, key, value, memory.Options{}); err != nil {
//			return err
//		}
//	}
//	q := retrieval.Query{Prefix: []string{"docs"}, Text: question}
//	found, err := retrieval.Search(ctx, index, q)
//
// [Split] cuts a text into chunks that fit into a prompt. [Search] finds items by the words of a
// question and, in a memory.Index, by its meaning, and merges both rankings with [Fuse].
//
// # What it does not do
//
// It reads no files, and understands only plain text and Markdown. A search for words does not find
// other forms of them: "run" does not match "runs". The vectors of a model find such items.
package retrieval
