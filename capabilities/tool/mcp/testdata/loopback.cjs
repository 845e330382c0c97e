// The server listens on all addresses. This lets it listen on the loopback alone.
const { Server } = require("node:net");
const listen = Server.prototype.listen;
Server.prototype.listen = function (port, ...rest) {
  return listen.call(this, port, "127.0.0.1", ...rest);
};
