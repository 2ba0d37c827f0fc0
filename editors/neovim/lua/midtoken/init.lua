-- midtoken for Neovim 0.11 and later: what people set up, map and show. `:help midtoken`.

local ghost = require('midtoken.ghost')

local M = {}

---@class midtoken.Options
---@field ghost_text boolean? grey text behind the cursor (0.12 and later); on if left out
---@field menu boolean? entries in Neovim's own completion menu; on if left out where there is no ghost text
---@field keys table<string, string>? keys of insert mode for `accept`, `accept_word`, `accept_line`,
--- `next`, `previous`; none are mapped without being named here

--- What keys can do. Each is false if nothing is shown: then the key does what it always did.
---@type table<string, fun(): boolean>
M.actions = {
  accept = ghost.accept,
  accept_word = ghost.accept_word,
  accept_line = ghost.accept_line,
  next = function()
    return ghost.step(1)
  end,
  previous = function()
    return ghost.step(-1)
  end,
}

---@param client vim.lsp.Client
---@param buffer integer
---@param options { ghost_text: boolean, menu: boolean }
local function attach(client, buffer, options)
  if options.ghost_text then
    ghost.enable(buffer)
    require('midtoken.notes').watch(client.id, buffer)
  end
  if options.menu then
    vim.lsp.completion.enable(true, client.id, buffer, {
      -- Neovim inserts the first word of an item only; this makes it insert all of it.
      convert = function(item)
        return { word = item.textEdit.newText }
      end,
    })
  end
end

--- Choose how suggestions are shown and which keys take them. Call it once; `vim.lsp.enable` starts
--- the server.
---@param options midtoken.Options?
function M.setup(options)
  options = options or {}
  for name in pairs(options) do
    if not vim.list_contains({ 'ghost_text', 'menu', 'keys' }, name) then
      error(('midtoken: there is no option `%s`: ghost_text, menu and keys are'):format(name), 2)
    end
  end
  vim.validate('ghost_text', options.ghost_text, 'boolean', true)
  vim.validate('menu', options.menu, 'boolean', true)
  vim.validate('keys', options.keys, 'table', true)
  local with_ghost = ghost.is_there and options.ghost_text ~= false
  local with_menu = options.menu
  if with_menu == nil then
    with_menu = not with_ghost
  end

  for action, key in pairs(options.keys or {}) do
    local run = M.actions[action]
    if not run then
      local names = vim.tbl_keys(M.actions)
      table.sort(names)
      error(
        ('midtoken: keys has no `%s`: choose from %s'):format(action, table.concat(names, ', ')),
        2
      )
    end
    vim.keymap.set('i', key, function()
      return run() and '' or key
    end, { expr = true, replace_keycodes = true, desc = 'midtoken: ' .. action:gsub('_', ' ') })
  end

  local function use(client, buffer)
    attach(client, buffer, { ghost_text = with_ghost, menu = with_menu })
  end
  vim.api.nvim_create_autocmd('LspAttach', {
    group = vim.api.nvim_create_augroup('midtoken', {}),
    callback = function(event)
      local client = vim.lsp.get_client_by_id(event.data.client_id)
      if client and client.name == 'midtoken' then
        use(client, event.buf)
      end
    end,
  })
  for _, client in ipairs(vim.lsp.get_clients({ name = 'midtoken' })) do
    for buffer in pairs(client.attached_buffers) do
      use(client, buffer)
    end
  end
end

--- For status lines: `midtoken ready`, `midtoken loading 40 %`; empty in buffers without midtoken.
---@return string
function M.statusline()
  return require('midtoken.status').line()
end

return M
