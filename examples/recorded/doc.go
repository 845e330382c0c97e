// Package recorded is an example of a test with a recording: a model of a provider sorts a question
// to a shop and answers it with the help of a tool. The calls are in testdata/recordings/shop, so
// the test needs no key and no network.
//
//	weft test examples/recorded/shop.yaml
//
// With a key, this records them again, as far as the workflow has changed:
//
//	OPENAI_API_KEY=… weft test --record examples/recorded/shop.yaml
package recorded
