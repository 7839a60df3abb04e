# frozen_string_literal: true

require_relative "http1_request_bodies"
require_relative "http1_request_heads"

module Conformance
  # Requests, as a server gets them.
  HTTP1_REQUESTS = [*HTTP1_REQUEST_HEADS, *HTTP1_REQUEST_BODIES].freeze
end
