# frozen_string_literal: true

require_relative "../sibling"

module Plait
  Sibling.load("plait-rpc", "plait/rpc")
end
