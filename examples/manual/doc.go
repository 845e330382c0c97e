// Package manual is a folder of workflows without Go: a tool searches the pages of a manual, and a
// server finds stored items by their meaning.
//
//	weft run examples/manual/manual.yaml --input 'question=How do I clean the boiler?'
//	weft serve examples/manual --config examples/manual/weft.yaml --embedder small
//	weft reindex --config examples/manual/weft.yaml --embedder small
//
// The first command needs no key: manual.yaml searches by words. The others, and meaning.yaml, ask
// the embedder of weft.yaml, a server with the protocol of OpenAI at $EMBEDDINGS_URL.
package manual
