# frozen_string_literal: true

module Plait
  module Lab
    # A figure as data.
    #
    # - `title`, and `caption`: what it shows and how to read it, in words
    # - `drawings` a Hash of Vega-Lite specifications, each under the label that it needs when there are several
    # - `table` the same figures as a {Table}, for who can't see the drawings
    Plot = Struct.new(:title, :caption, :drawings, :table, keyword_init: true)
  end
end
