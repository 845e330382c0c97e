// Package modelhttp has what the clients of model servers share: limits of time and size, failures
// as [*model.Error], and the redaction of keys.
//
//	c, err := modelhttp.New(modelhttp.Config{URL: url, Key: key, Failed: failed})
//	api := sdk.New(c.HTTP())
//	err = c.Do(ctx, "model-1", func(ctx context.Context) error { return read(ctx, api) })
//
// The client's transport does most of the work, below the library of the provider. It turns error
// responses and broken connections into failures, so the library reports them unchanged.
package modelhttp
