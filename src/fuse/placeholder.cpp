namespace sinter {}
