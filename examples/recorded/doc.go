// Package recorded is an example of a test with a recording. A model of a provider sorts a question
// to a shop, a server of the shop has the fee, and the model answers with the help of a tool. The
// calls are in testdata/recordings/shop, so the test needs no key, no server and no network.
//
//	weft test examples/recorded/shop.yaml
//
// With the keys and the server, this records them again, as far as the workflow has changed:
//
//	OPENAI_API_KEY=… SHOP_KEY=… weft test --record examples/recorded/shop.yaml
package recorded
