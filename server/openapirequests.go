package server

// requests are the schemas of bodies, by method and path. A POST, PUT or PATCH that is not here
// takes no body.
var requests = map[string]string{
	"POST /ui/{name}": "ComponentRequest",

	"POST /assistants": "AssistantRequest", "PATCH /assistants/{assistant_id}": "AssistantRequest",
	"POST /assistants/search": "AssistantSearch", "POST /assistants/count": "AssistantSearch",
	"POST /assistants/{assistant_id}/versions": "AssistantSearch", "POST /assistants/{assistant_id}/latest": "VersionRequest",

	"POST /threads": "ThreadRequest", "PATCH /threads/{thread_id}": "ThreadRequest",
	"POST /threads/search": "ThreadSearch", "POST /threads/count": "ThreadSearch", "POST /threads/prune": "PruneRequest",
	"POST /threads/{thread_id}/blobs": "Bytes",
	"POST /threads/{thread_id}/state": "StateRequest", "PATCH /threads/{thread_id}/state": "MetadataRequest",
	"POST /threads/{thread_id}/state/checkpoint": "StateAtRequest", "POST /threads/{thread_id}/history": "HistoryRequest",
	"POST /threads/{thread_id}/commands": "CommandRequest",
	"POST /threads/{thread_id}/stream":   "SubscriptionRequest", "POST /threads/{thread_id}/stream/events": "SubscriptionRequest",

	"POST /threads/{thread_id}/runs": "RunRequest", "POST /threads/{thread_id}/runs/wait": "RunRequest", "POST /threads/{thread_id}/runs/stream": "RunRequest",
	"POST /runs": "RunRequest", "POST /runs/wait": "RunRequest", "POST /runs/stream": "RunRequest", "POST /runs/batch": "RunRequests",
	"POST /runs/cancel": "CancelRequest",

	"POST /runs/crons": "CronRequest", "POST /threads/{thread_id}/runs/crons": "CronRequest", "PATCH /runs/crons/{cron_id}": "CronRequest",
	"POST /runs/crons/search": "CronSearch", "POST /runs/crons/count": "CronSearch",

	"PUT /store/items": "ItemRequest", "DELETE /store/items": "ItemName",
	"POST /store/items/search": "ItemSearch", "POST /store/namespaces": "NamespaceRequest",

	"POST /mcp": "ProtocolMessage", "POST /a2a/{assistant_id}": "ProtocolMessage",
	"POST /agui/{assistant_id}": "AGUIRequest", "POST /ai-sdk/{assistant_id}": "ChatRequest",
	"POST /v1/chat/completions": "CompletionRequest",
}
