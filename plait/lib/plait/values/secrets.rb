# frozen_string_literal: true

module Plait
  # Passwords are not for messages and logs.
  module Secrets
    # A user and a password of a URL. The second form has a byte that ends the authority: it should be percent-encoded.
    USERINFO = %r{//(?:[^/?\#]*|[^/?\#@:\[]+:(?!\d*(?:[/?\#]|\z))[^@]{0,1024})@}
    # The same without a scheme, as the whole text: what is given for a URL by mistake.
    BARE = %r{\A[^\s/:@]{1,1024}:(?!//)[^\s@]{1,1024}@}
    # A value behind a telling name: in a query, in JSON, in a header, in a Ruby hash.
    NAMED = /((?:passw|pwd|secret|token|authorization|credential|api[_-]?key|access[_-]?key)[\w-]{0,40}
             ["']?\s{0,9}(?:=>|[:=])\s{0,9}["']?(?:(?:basic|bearer|digest|negotiate|ntlm)\s{1,9})?)[^\s"'&,;}]+/ix

    # @return [String] the text without passwords, as far as their form or their name shows them
    def self.hide(text)
      text = text.b unless text.valid_encoding? && text.encoding.ascii_compatible?
      mask = text.encoding == Encoding::UTF_8 ? "…" : "..."
      text.gsub(USERINFO) { "//#{mask}@" }.sub(BARE) { "#{mask}@" }.gsub(NAMED) { "#{Regexp.last_match(1)}#{mask}" }
    end
  end
  private_constant :Secrets
end
