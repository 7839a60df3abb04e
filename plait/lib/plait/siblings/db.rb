# frozen_string_literal: true

require_relative "../sibling"

module Plait
  Sibling.load("db")
end
