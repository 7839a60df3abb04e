# frozen_string_literal: true

module Plait
  VERSION = "0.1.0"
end
