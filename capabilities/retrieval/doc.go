// Package retrieval finds the parts of documents that answer a question.
//
//	chunks, err := retrieval.Split(text, retrieval.Options{MaxTokens: 300})
//	for _, c := range chunks {
//		value, _ := json.Marshal(c)
//		_, err = index.Put(ctx, []string{"docs"}, fmt.Sprint(c.Line), value, memory.Options{})
//	}
//	q := retrieval.Query{Prefix: []string{"docs"}, Text: question}
//	found, err := retrieval.Search(ctx, index, q)
//
// [Split] cuts a text into chunks that fit into a prompt. [Search] looks for the words of a
// question and, in a memory.Index, for its meaning, and joins both lists by [Fuse].
//
// # What it does not do
//
// It reads no files and no formats but text and Markdown. Words are those of checkpoint/memory, so
// forms of a word are different words; the vectors of a model make up for that.
package retrieval
