// Package modeltest judges the clients of model servers in tests. A server on this machine plays
// the answers of a folder, which are written from the provider's reference, and the library of the
// provider reads them.
//
//	var provider = modeltest.Provider{
//		Key:  "secret",
//		Open: func(url string, c *http.Client) (model.Model, error) { … },
//	}
//
//	func TestAnswers(t *testing.T)    { provider.Answers(t) }
//	func TestEmbeddings(t *testing.T) { provider.Embeddings(t) }
//	func TestTable(t *testing.T)      { provider.Table(t, "openai") }
package modeltest
