package checkpoint

// nameRecovered is the stored name of Record.Recovered.
const nameRecovered = "healed"
